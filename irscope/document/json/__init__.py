"""Reports as JSON documents; docs/json-schemas.md describes each schema."""
