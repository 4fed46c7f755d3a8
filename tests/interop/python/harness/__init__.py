"""What the interop scripts share: the server under test, the mails, and how a step is shown."""
