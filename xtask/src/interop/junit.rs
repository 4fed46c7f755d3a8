//! The report of a test run in the form of `JUnit`, as pytest writes it.

use anyhow::{Context as _, Result, ensure};
use roxmltree::{Document, Node};

/// What a run came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) passed: usize,
    /// Tests that failed, or could not be set up or cleaned up after.
    pub(super) failed: Vec<Case>,
    pub(super) skipped: Vec<Case>,
}

/// A test that did not pass, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) reason: String,
}

impl Outcome {
    /// What the report says.
    pub(super) fn read(xml: &str) -> Result<Self> {
        let document = Document::parse(xml).context("the report is no XML")?;
        let mut outcome = Self::default();
        let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
        for case in cases {
            outcome.take(&case)?;
        }
        ensure!(outcome.tests() > 0, "the report has no test");
        Ok(outcome)
    }

    /// How many tests there were.
    pub(super) fn tests(&self) -> usize {
        self.passed + self.failed.len() + self.skipped.len()
    }

    fn take(&mut self, case: &Node) -> Result<()> {
        let attribute = |name: &str| case.attribute(name).with_context(|| format!("a test without {name}"));
        let name = format!("{}.{}", attribute("classname")?, attribute("name")?);
        let with = |tags: &[&str]| {
            let found = case.children().find(|child| tags.contains(&child.tag_name().name()))?;
            Some(reason(&found))
        };
        if let Some(reason) = with(&["failure", "error"]) {
            self.failed.push(Case { name, reason });
        } else if let Some(reason) = with(&["skipped"]) {
            self.skipped.push(Case { name, reason });
        } else {
            self.passed += 1;
        }
        Ok(())
    }
}

/// The first line of the message.
fn reason(node: &Node) -> String {
    let message = node.attribute("message").or_else(|| node.text()).unwrap_or_default();
    message.trim().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, reason: &str) -> Case {
        Case {
            name: name.to_owned(),
            reason: reason.to_owned(),
        }
    }

    #[test]
    fn each_test_is_counted_once_with_its_reason() {
        let xml = r#"<?xml version="1.0" encoding="utf-8"?>
            <testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="5">
            <testcase classname="tests.a.A" name="one" time="0.001"/>
            <testcase classname="tests.a.A" name="two"><system-out>words</system-out></testcase>
            <testcase classname="tests.a.A" name="three"><failure message="assert 1 &lt; 0&#10;more">trace</failure></testcase>
            <testcase classname="tests.b" name="four"><error message="failed on setup">trace</error></testcase>
            <testcase classname="tests.b" name="five"><skipped type="pytest.skip" message="not here">at</skipped></testcase>
            </testsuite></testsuites>"#;
        let outcome = Outcome::read(xml).unwrap();
        assert_eq!(outcome.tests(), 5);
        let expected = Outcome {
            passed: 2,
            failed: vec![
                case("tests.a.A.three", "assert 1 < 0"),
                case("tests.b.four", "failed on setup"),
            ],
            skipped: vec![case("tests.b.five", "not here")],
        };
        assert_eq!(outcome, expected);
    }

    #[test]
    fn a_report_without_tests_is_none() {
        for xml in [
            "",
            "<testsuites/>",
            "<testsuite tests=\"1\"><testcase name=\"x\"/></testsuite>",
        ] {
            assert!(Outcome::read(xml).is_err(), "{xml:?}");
        }
    }
}
