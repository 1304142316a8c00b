"""The drafts of JSON Schema that are understood."""

from __future__ import annotations

from dataclasses import dataclass

import jsonschema_rs

from retrycontract.contract.json_types import Schema, type_name
from retrycontract.contract.schemas.invalid_schema import InvalidSchema, SchemaFault, excerpt


@dataclass(frozen=True, slots=True)
class Draft:
    """Hold one draft: its name, the address of its metaschema and the engine's validator for it."""

    name: str
    uri: str
    engine: type[jsonschema_rs.Validator]
    id_keyword: str = "$id"
    ref_hides_siblings: bool = False


DRAFT_2020_12 = Draft("2020-12", "https://json-schema.org/draft/2020-12/schema", jsonschema_rs.Draft202012Validator)
DRAFT_2019_09 = Draft("2019-09", "https://json-schema.org/draft/2019-09/schema", jsonschema_rs.Draft201909Validator)
DRAFTS = (
    DRAFT_2020_12,
    DRAFT_2019_09,
    Draft("7", "http://json-schema.org/draft-07/schema", jsonschema_rs.Draft7Validator, "$id", True),
    Draft("6", "http://json-schema.org/draft-06/schema", jsonschema_rs.Draft6Validator, "$id", True),
    Draft("4", "http://json-schema.org/draft-04/schema", jsonschema_rs.Draft4Validator, "id", True),
)


def draft_of(schema: Schema) -> Draft:
    """Tell the draft that `$schema` names, 2020-12 without one; raises InvalidSchema for any other."""
    uri = schema.get("$schema", DRAFT_2020_12.uri) if isinstance(schema, dict) else DRAFT_2020_12.uri
    draft = _BY_ADDRESS.get(_address(uri)) if isinstance(uri, str) else None
    if draft is None:
        shown = f"'{excerpt(uri)}'" if isinstance(uri, str) else type_name(uri)
        known = ", ".join(each.name for each in DRAFTS)
        reason = f"{shown} is no known draft; use '{DRAFT_2020_12.uri}' or leave it out (known are {known})."
        raise InvalidSchema("/$schema", reason, SchemaFault.UNKNOWN_DRAFT)
    return draft


def _address(uri: str) -> str:
    """Drop what people vary: the scheme and an empty fragment."""
    return uri.removesuffix("#").removeprefix("https:").removeprefix("http:")


_BY_ADDRESS = {_address(draft.uri): draft for draft in DRAFTS}
