//! The fuzz targets over inputs that are known, and over inputs that are made.

mod dictionary;
mod properties;
mod replay;
mod seeds;
