def test_products_answer_in_time(loadgen):
    result = loadgen.run("/products", users=10, duration="2s")
    assert result.p95 < 0.25
    assert result.error_rate < 0.01


def test_products_are_not_slower(loadgen):
    loadgen.assert_not_slower("/products", users=10, duration="2s", limit="5%")
