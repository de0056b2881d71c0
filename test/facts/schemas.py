"""The schemas of ONNX's own operators, as far as floating point goes: schemas.json, one operator a line.

    pip install onnx
    python test/facts/schemas.py

{"onnx": version, "opset": the newest, "operators": {operator: [version, …]}}, the oldest first. A version:
  since       the opset that it came with
  deprecated  true where the operator is gone from then on
  inputs      [[name, type, how]]: how is "single", "optional" or "variadic"; a type is that of `types`
  outputs     the same
  types       {type: [float types that it may be]}, of "float", "float16", "bfloat16", "double"; [] where it is none of
              these. Values of one type are of one and the same.
  attributes  {name: [kind, required]}
"""
import json
import os

import onnx
from onnx import defs

FLOATS = ["float", "float16", "bfloat16", "double"]


def types_of(schema):
    allowed = {constraint.type_param_str: constraint.allowed_type_strs for constraint in schema.type_constraints}
    for value in [*schema.inputs, *schema.outputs]:
        allowed.setdefault(value.type_str, [value.type_str])
    return {name: [each for each in FLOATS if f"tensor({each})" in types] for name, types in sorted(allowed.items())}


def values(values):
    return [[value.name, value.type_str, value.option.name.lower()] for value in values]


def version(schema):
    attributes = {name: [attribute.type.name, attribute.required] for name, attribute in sorted(schema.attributes.items())}
    return {
        "since": schema.since_version,
        **({"deprecated": True} if schema.deprecated else {}),
        "inputs": values(schema.inputs),
        "outputs": values(schema.outputs),
        "types": types_of(schema),
        "attributes": attributes,
    }


def main():
    operators = {}
    for schema in sorted(defs.get_all_schemas_with_history(), key=lambda each: each.since_version):
        if schema.domain == "":
            operators.setdefault(schema.name, []).append(version(schema))
    rows = [f" {json.dumps(name)}: {json.dumps(operators[name])}" for name in sorted(operators)]
    head = f'{{"onnx": {json.dumps(onnx.__version__)}, "opset": {defs.onnx_opset_version()}, "operators": {{\n'
    with open(os.path.join(os.path.dirname(__file__), "schemas.json"), "w") as file:
        file.write(head + ",\n".join(rows) + "\n}}\n")


main()
