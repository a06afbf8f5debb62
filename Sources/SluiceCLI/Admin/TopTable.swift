/// Shows costs of queries as a table.
struct TopTable {
    /// The width of a terminal; nil for no limit.
    var width: Int? = Terminal.width
    /// The most queries that are shown.
    var rowCountMax = 20

    /// - Parameters:
    ///   - sample: what is shown, in its order.
    ///   - seconds: the time in which it came about, for numbers by the second, where a cost has no time of its own; nil
    ///     shows the numbers themselves.
    func lines(_ sample: TopSample, seconds: Double?) -> [String] {
        let suffix = seconds == nil ? "" : "/s"
        let titles = [
            "database", "subscribers", "rows", "found" + suffix, "changed" + suffix, "bytes" + suffix, "ms" + suffix,
            "bootstraps" + suffix, "ms each", "query",
        ]
        let columns = titles.map { title in
            TableRenderer.Column(title: title, isNumeric: title != "database" && title != "query")
        }
        let rows = sample.costs.prefix(rowCountMax).map { cost in
            let seconds = seconds.map { cost.seconds ?? $0 }
            return [
                cost.database, number(cost.subscriberCount), cost.rowCount.map(number) ?? "?",
                rate(Double(cost.foundCount), seconds), rate(Double(cost.changedCount), seconds),
                rate(Double(cost.sentByteCount), seconds), rate(Double(cost.applyingTime) / 1_000, seconds, digits: 1),
                rate(Double(cost.bootstrapCount), seconds, digits: seconds == nil ? 0 : 1),
                cost.bootstrapCount == 0
                    ? "" : rate(Double(cost.bootstrapTime) / Double(cost.bootstrapCount) / 1_000, nil, digits: 1),
                cost.query,
            ]
        }
        let shown = min(sample.costs.count, rowCountMax)
        return TableRenderer(columns: columns, width: width).lines(rows)
            + ["\(shown) of \(GroupedNumber.text(Int(sample.viewCount))) live queries, the costliest first"]
            + sample.silent.map { "the database '\($0)' is too busy to say what its queries cost" }
    }

    private func number(_ value: Int64) -> String { GroupedNumber.text(Int(value)) }

    private func rate(_ value: Double, _ seconds: Double?, digits: Int = 0) -> String {
        // A database that has not answered again has added nothing, in no time.
        let value = seconds == 0 ? 0 : value / (seconds ?? 1)
        guard digits > 0, value < 1_000 else { return GroupedNumber.text(Int(value.rounded())) }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
