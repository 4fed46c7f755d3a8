//! Which server is meant, with which key: flags over environment over configuration file over the server of this machine.
