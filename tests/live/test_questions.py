"""What a page may ask besides a map."""


def test_there_is_no_answer_without_a_map(listen, table):
    page = listen(table)
    header, _ = page.answer(what="text", id=1)
    assert "no map" in header["error"]


def test_the_text_names_the_settings_that_are_shown(listen, table):
    page = listen(table)
    page.settings(1, method="isomap", n_neighbors=7)
    page.settled(1)
    header, _ = page.answer(what="text", id=2)
    assert "n_neighbors=7" in header["python"] and "--n-neighbors 7" in header["command"]
