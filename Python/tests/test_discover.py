"""The server does what ``rpc.discover`` describes, as read by tools for JSON Schema and OpenRPC."""

from __future__ import annotations

from typing import Any

import pytest

import easim

jsonschema = pytest.importorskip("jsonschema")


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    with easim.Server() as server:
        return server.call("rpc.discover")


def validator(document: dict[str, Any], schema: Any) -> Any:
    return jsonschema.Draft202012Validator({**schema, "components": document["components"]})


def test_every_schema_is_one_and_every_reference_resolves(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert {"quirk", "fault", "behavior", "a-profile", "rules"} <= set(schemas), sorted(schemas)
    for method in document["methods"]:
        for schema in [method["result"]["schema"], *(param["schema"] for param in method["params"])]:
            jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator.check_schema({"$defs": schemas})

    def walk(tree: Any, path: str) -> None:
        if isinstance(tree, list):
            for number, each in enumerate(tree):
                walk(each, f"{path}/{number}")
        elif isinstance(tree, dict):
            if isinstance(reference := tree.get("$ref"), str):
                name = reference.removeprefix("#/components/schemas/")
                assert name in schemas, (path, reference)
            assert tree.get("additionalProperties", True) is not False, path
            for key, each in tree.items():
                walk(each, f"{path}/{key}")

    walk(document, "")


def test_every_example_follows_its_schema(document: dict[str, Any]) -> None:
    for method in document["methods"]:
        known = {param["name"]: param for param in method["params"]}
        required = [param["name"] for param in method["params"] if param["required"]]
        assert list(known)[: len(required)] == required, method["name"]
        for example in method["examples"]:
            given = {param["name"]: param["value"] for param in example["params"]}
            assert set(required) <= set(given) <= set(known), method["name"]
            for name, value in given.items():
                if (method["name"], name) == ("fault.change", "to"):
                    continue  # The pattern for text does not include kinds with required keys.
                validator(document, known[name]["schema"]).validate(value)


def test_its_own_answer_is_one(document: dict[str, Any]) -> None:
    method = next(method for method in document["methods"] if method["name"] == "rpc.discover")
    validator(document, method["result"]["schema"]).validate(document)
