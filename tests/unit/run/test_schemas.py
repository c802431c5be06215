"""The command that writes JSON schemas for editors."""

from cinorms.run.schemas import main, schemas


def test_the_command_writes_the_schemas_into_a_folder_that_it_makes(tmp_path, capsys):
    folder = tmp_path / "new/schemas"
    assert main([str(folder)]) == 0
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == schemas()
    assert capsys.readouterr().out == f"{folder / 'study.schema.json'}\n"
