/// Cases that evaluator, SQL and the naive reading once answered differently, and others worth keeping, in the form in
/// which `OracleTests` prints them: the seed of the world, the query, and the objects that remain in the world.
enum KeptCases {
    static let all = [
        "18 | B WHERE ALL @links.B.linkMap.link1.many_map <= ANY {nan, 0.1} | ",
        "1 | A WHERE ANY links.p_int + 1 > 0 | A:a A:ab B:0 B:2",
        "2 | C WHERE @links.@count > 0 | A:A B:1 B:2 C:19191919-1919-1919-1919-191919191919",
    ]
}
