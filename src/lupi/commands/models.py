"""`lupi models`."""

from lupi.commands.options import Json, show


def models(name: str | None = None, /, *, json: Json = False) -> None:
    """List the models there are, or the settings of one.

    Parameters
    ----------
    name
        A model: its settings, each of which is an option of `lupi train`, such as
        --process.hidden-size.
    json
        Print JSON for programs.
    """
    from lupi.registry import MODELS, get_model

    if name is None:
        show({key: model.summary for key, model in MODELS.items()}, as_json=json)
        return
    model = get_model(name)
    process = type(model.process)
    settings = {
        field: {"default": getattr(model.process, field), "meaning": info.description}
        for field, info in process.model_fields.items()
        if field != "kind"
    }
    described = {"summary": model.summary} | model.model_dump(
        mode="json", include={"uses_privileged", "objective", "inference"}
    )
    described |= {"kind": model.process.kind}
    if json:
        show(described | {"process": settings}, as_json=True)
        return
    lines = {
        f"--process.{field.replace('_', '-')}": f"{info['default']}   {info['meaning'] or ''}"
        for field, info in settings.items()
    }
    show(described | {"settings": lines}, as_json=False)
