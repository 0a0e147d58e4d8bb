#!/usr/bin/env python3
"""Correct converters: one object a line, in the style that the argument names."""

import json
import sys

PREFIX = "styles.example.com/"


def kept(obj, name):
    """Take what an annotation keeps; None if there is none, or it is none of ours."""
    metadata = obj.get("metadata", {})
    annotations = metadata.get("annotations", {})
    try:
        value = json.loads(annotations.get(PREFIX + name, ""))
    except ValueError:
        return None
    del annotations[PREFIX + name]
    if not annotations:
        del metadata["annotations"]
    return value


def keep(obj, name, value):
    obj.setdefault("metadata", {}).setdefault("annotations", {})[PREFIX + name] = json.dumps(value, ensure_ascii=False)


def fields(old, new, obj):
    """Each field that only v1 has is kept in an annotation of its own."""
    only = [("spec", "folders"), ("spec", "policy"), ("spec", "note"), ("status", "message")]
    for part, field in only:
        inner, name = obj.get(part), part + "." + field
        if inner is None:
            continue
        if new == "v1alpha1" and field in inner:
            keep(obj, name, inner.pop(field))
        if new == "v1":
            value = kept(obj, name)
            if value is not None:
                inner[field] = value


# Parts of objects, of which API servers want to know what they are at another version, have null in place of values.


def joined(host, port):
    return host if port is None else f"{host}:{port}"


def parted(address):
    host, colon, port = (address or "").partition(":")
    return {"host": host, "port": int(port)} if colon else {"host": host}


def flat_to_text(spec):
    port = spec.pop("port", None)
    if "host" in spec:
        spec["address"] = joined(spec.pop("host"), port)
    if "timeoutSeconds" in spec:
        spec["timeout"] = f"{spec.pop('timeoutSeconds') or 0}s"


def text_to_flat(spec):
    if "address" in spec:
        spec.update(parted(spec.pop("address")))
    if "timeout" in spec:
        spec["timeoutSeconds"] = int((spec.pop("timeout") or "0s")[:-1])


def flat_to_nested(spec):
    endpoint = {name: spec.pop(name) for name in ("host", "port") if name in spec}
    if endpoint:
        spec["endpoint"] = endpoint
    if "timeoutSeconds" in spec:
        spec["timeout"] = {"seconds": spec.pop("timeoutSeconds")}


def nested_to_flat(spec):
    spec.update(spec.pop("endpoint", None) or {})
    seconds = (spec.pop("timeout", None) or {}).get("seconds")
    if seconds is not None:
        spec["timeoutSeconds"] = seconds


def text_to_nested(spec):
    text_to_flat(spec)
    flat_to_nested(spec)


def nested_to_text(spec):
    nested_to_flat(spec)
    flat_to_text(spec)


PAIRS = {
    ("v1alpha1", "v1beta1"): flat_to_text,
    ("v1beta1", "v1alpha1"): text_to_flat,
    ("v1alpha1", "v1"): flat_to_nested,
    ("v1", "v1alpha1"): nested_to_flat,
    ("v1beta1", "v1"): text_to_nested,
    ("v1", "v1beta1"): nested_to_text,
}


def pairs(old, new, obj):
    """Each pair of versions has a function of its own; there is no hub."""
    if obj.get("spec"):
        PAIRS[old, new](obj["spec"])


def union(old, new, obj):
    """The members of an enum become the members of a union, of which some are empty."""
    spec = obj.get("spec") or {}
    if "mode" not in spec:
        return
    mode = spec.pop("mode") or {}
    if new == "v1":
        spec["mode"] = {mode.lower(): {"to": spec.pop("mirrorTo")} if "mirrorTo" in spec else {}} if mode else None
        return
    for member, value in mode.items():
        spec["mode"] = member.capitalize()
        if value and "to" in value:
            spec["mirrorTo"] = value["to"]


STYLES = {"fields": fields, "pairs": pairs, "union": union}

convert = STYLES[sys.argv[1]]
for line in sys.stdin:
    request = json.loads(line)
    try:
        convert(request["from"], request["to"], request["object"])
    except Exception as error:  # what cannot be converted is said of one object alone
        request = {"error": repr(error)}
    print(json.dumps(request), flush=True)
