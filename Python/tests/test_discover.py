"""The server does what ``rpc.discover`` describes, as read by tools for JSON Schema and OpenRPC."""

from __future__ import annotations

import asyncio
import base64
import importlib
import keyword
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import easim
from easim._program import find

jsonschema = pytest.importorskip("jsonschema")


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    with easim.Server() as server:
        return server.call("rpc.discover")


def validator(document: dict[str, Any], schema: Any) -> Any:
    return jsonschema.Draft202012Validator({**schema, "components": document["components"]})


def test_every_schema_is_one_and_every_reference_resolves(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert {"Quirk", "Fault", "Behavior", "Profile", "Rules"} <= set(schemas), sorted(schemas)
    assert all(name.isidentifier() for name in schemas)
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
                validator(document, known[name]["schema"]).validate(value)


def test_its_own_answer_is_one(document: dict[str, Any]) -> None:
    method = next(method for method in document["methods"] if method["name"] == "rpc.discover")
    validator(document, method["result"]["schema"]).validate(document)


def test_texts_of_faults_follow_the_pattern(document: dict[str, Any]) -> None:
    schema = validator(document, {"$ref": "#/components/schemas/Fault"})
    for text in ("latency,delay=5ms", "loss", " loss , chance=2%", "half-dead,in"):
        assert schema.is_valid(text), text
    for text in ("latency", "latenzy,delay=5ms", "loss chance", ""):
        assert not schema.is_valid(text), text


# Generated client


def simplified(tree: Any, schemas: dict[str, Any]) -> Any:
    """Rewrite the parts that openrpcclientgenerator cannot handle.

    The generator makes types only from objects, and uses Python keywords as names. It renames fields such as
    ``bytesRead`` without telling pydantic, so results stay dictionaries.
    """
    if isinstance(tree, list):
        return [simplified(each, schemas) for each in tree]
    if not isinstance(tree, dict):
        return tree
    name = str(tree.get("$ref", "")).rpartition("/")[2]
    if name and not is_object(schemas[name]):
        return simplified({**schemas[name], **{key: each for key, each in tree.items() if key != "$ref"}}, schemas)
    return {f"key_{key}" if keyword.iskeyword(key) else key: simplified(each, schemas) for key, each in tree.items()}


def is_object(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "object" and bool(schema.get("properties"))


def generate(document: dict[str, Any], folder: Path) -> Any:
    generator = pytest.importorskip("openrpcclientgenerator")
    openrpc = pytest.importorskip("openrpc")
    schemas = document["components"]["schemas"]
    simple = simplified(document, schemas)
    objects = {name: each for name, each in simple["components"]["schemas"].items() if is_object(each)}
    simple["components"] = {"schemas": objects}
    for method in simple["methods"]:
        method["result"]["schema"] = {"type": "object"}
    generator.generate(openrpc.OpenRPC(**simple), generator.Language.PYTHON, "http://127.0.0.1/", folder)
    (client,) = folder.glob("python/*/*/client.py")
    # The generated methods named "list" hide the built-in type.
    client.write_text(f"from __future__ import annotations\n{client.read_text()}")
    sys.path.insert(0, str(client.parents[1]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(f"{client.parent.name}.client").EasimClient
    finally:
        sys.path.pop(0)


def test_a_generated_client_has_every_method_and_works(document: dict[str, Any], tmp_path: Path) -> None:
    kind = generate(document, tmp_path)
    process = subprocess.Popen([str(find()), "serve"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        address, token = process.stdout.readline().split("#")
        place = address[address.index("http://") :]
        client = kind({"Authorization": f"Bearer {token.strip()}"}, f"{place}rpc")
        for method in document["methods"]:
            group, name = method["name"].split(".")
            snake = re.sub(r"(?<=[a-z])[A-Z]", lambda match: f"_{match.group(0).lower()}", name)
            assert callable(getattr(getattr(client, group), snake)), method["name"]

        async def use() -> str:
            world = (await client.world.create(time="virtual"))["world"]
            (lamp,) = (await client.accessory.add(profile="echo", world=world))["accessories"]
            app = (await client.app.launch(world=world))["app"]
            await client.accessory.plug(lamp)
            session = (await client.app.open(app, "com.example.echo", wait="10s"))["session"]
            await client.session.write(session, text="hello")
            return str((await client.session.read(session, wait="1s"))["data"])

        assert base64.b64decode(asyncio.run(use())) == b"hello"
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
