"""Sends one mail with Python's own smtplib, which insists on a certificate that it can verify."""

import smtplib
import ssl
import sys

how, port, authority = sys.argv[1], int(sys.argv[2]), sys.argv[3]
context = ssl.create_default_context(cafile=authority)
sender, options = "alice@sender.test", []

if how == "implicit":
    client = smtplib.SMTP_SSL("localhost", port, "client.test", timeout=20, context=context)
else:
    client = smtplib.SMTP("localhost", port, "client.test", timeout=20)
    client.starttls(context=context)

with client:
    if how == "plain":
        client.login("alice", "secret")
    elif how == "login":
        client.ehlo()
        client.user, client.password = "alice", "secret"
        client.auth("LOGIN", client.auth_login, initial_response_ok=False)
    elif how == "utf8":
        sender, options = "jörg@bücher.test", ["SMTPUTF8", "BODY=8BITMIME"]
    message = f"From: {sender}\r\nSubject: {how}\r\n\r\nGrüße\r\n".encode()
    client.sendmail(sender, ["bob@restante.test"], message, mail_options=options)
