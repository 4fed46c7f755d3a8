"""What CPython's email package makes of messages: one line of JSON for each path on standard input.

A first line names the folder of messages in CPython's own test suite, or is null where that is not installed.
A field that Python finds a defect in is left out, and so is a message that it finds one in.
"""

import base64
import email
import email.policy
import importlib.util
import json
import os
import sys


def test_messages():
    spec = importlib.util.find_spec("test")
    for folder in spec.submodule_search_locations if spec else []:
        data = os.path.join(folder, "test_email", "data")
        if os.path.isdir(data):
            return data
    return None


def header(message, name, read):
    values = message.get_all(name, [])
    if any(value.defects for value in values):
        raise ValueError
    return [read(value) for value in values]


def first(values):
    return values[0] if values else None


def milliseconds(date):
    moment = date.datetime
    # without a zone it is said in UTC
    return int((moment if moment.tzinfo else moment.replace(tzinfo=email.utils.datetime.timezone.utc)).timestamp() * 1000)


def addresses(value):
    return [address.addr_spec for address in value.addresses]


def leaves(part):
    if part.get_content_maintype() == "multipart" and part.is_multipart():
        for child in part.get_payload():
            yield from leaves(child)
        return
    # Python takes forwarded messages apart: their bytes are not to be had
    content = None if part.is_multipart() else base64.b64encode(part.get_payload(decode=True)).decode()
    yield {"contentType": part.get_content_type(), "filename": part.get_filename(), "content": content}


def opinion(path):
    with open(path, "rb") as file:
        # not from the file: that would translate line ends
        message = email.message_from_bytes(file.read(), policy=email.policy.default)
    if any(part.defects for part in message.walk()):
        return {}
    fields = {
        "subject": lambda: first(header(message, "subject", str)),
        "date": lambda: first(header(message, "date", milliseconds)),
        "from": lambda: first(sum(header(message, "from", addresses), [])),
        "to": lambda: sum(header(message, "to", addresses), []),
        "cc": lambda: sum(header(message, "cc", addresses), []),
        "parts": lambda: list(leaves(message)),
    }
    said = {}
    for name, read in fields.items():
        try:
            said[name] = read()
        except Exception:  # the package fails on some messages, in a way of its own
            pass
    return said


print(json.dumps(test_messages()), flush=True)
for line in sys.stdin:
    print(json.dumps(opinion(line.rstrip("\n"))), flush=True)
