"""The part of SARIF 2.1.0 that is written, as records.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html; names are those of the
standard, in its camel case once encoded. What has its default is left out.
"""

from __future__ import annotations

import msgspec

VERSION = "2.1.0"
SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
ROOT = "%SRCROOT%"
"""The base of relative paths; readers take it to be the top of the repository."""


class Base(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Base of all records."""


class Message(Base, frozen=True, gc=False):
    """A text, perhaps with a Markdown form."""

    text: str
    markdown: str = ""


class ArtifactLocation(Base, frozen=True, gc=False):
    """A file by its URI, or the meaning of a base."""

    uri: str = ""
    uri_base_id: str = ""
    description: Message | None = None


class Region(Base, frozen=True, gc=False):
    """Where in a text file, from 1 on."""

    start_line: int
    start_column: int = 0


class PhysicalLocation(Base, frozen=True, gc=False):
    """A file, and a region where it is text."""

    artifact_location: ArtifactLocation
    region: Region | None = None


class LogicalLocation(Base, frozen=True, gc=False):
    """A thing in the model."""

    name: str
    fully_qualified_name: str
    kind: str


class Location(Base, frozen=True, gc=False):
    """Where a person can look; ``id`` where messages point to it."""

    id: int = -1
    physical_location: PhysicalLocation | None = None
    logical_locations: tuple[LogicalLocation, ...] = ()
    message: Message | None = None


class Suppression(Base, frozen=True, gc=False):
    """Why a result does not count, and where that is written."""

    kind: str
    status: str
    justification: str
    location: Location
    properties: dict[str, str] = {}


class Result(Base, frozen=True, gc=False):
    """One finding. ``suppressions`` is always there: empty says that it counts."""

    rule_id: str
    rule_index: int
    level: str
    message: Message
    locations: tuple[Location, ...]
    partial_fingerprints: dict[str, str]
    suppressions: tuple[Suppression, ...]
    related_locations: tuple[Location, ...] = ()
    properties: dict[str, str] = {}


class Configuration(Base, frozen=True, gc=False):
    """How grave a rule is if a result does not say."""

    level: str


class Rule(Base, frozen=True, gc=False):
    """A kind of result."""

    id: str
    name: str
    short_description: Message
    full_description: Message
    help: Message
    default_configuration: Configuration
    properties: dict[str, tuple[str, ...]] = {}


class Driver(Base, frozen=True, gc=False):
    """The tool."""

    name: str
    version: str
    semantic_version: str
    rules: tuple[Rule, ...]


class Tool(Base, frozen=True, gc=False):
    """The tool and, unused here, its extensions."""

    driver: Driver


class Notification(Base, frozen=True, gc=False):
    """Something that went wrong with the run itself."""

    level: str
    message: Message


class Invocation(Base, frozen=True, gc=False):
    """How the run went."""

    execution_successful: bool
    tool_execution_notifications: tuple[Notification, ...] = ()


class Automation(Base, frozen=True, gc=False):
    """The series of runs that this one belongs to."""

    id: str


class Run(Base, frozen=True, gc=False):
    """One run of the tool."""

    tool: Tool
    automation_details: Automation
    invocations: tuple[Invocation, ...]
    original_uri_base_ids: dict[str, ArtifactLocation]
    column_kind: str
    results: tuple[Result, ...]


class Log(Base, frozen=True, gc=False):
    """The file."""

    schema: str = msgspec.field(name="$schema")
    version: str
    runs: tuple[Run, ...]
