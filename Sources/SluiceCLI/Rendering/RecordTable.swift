internal import SluiceModel

/// Prints objects and changes as tables.
enum RecordTable {
    /// Prints all objects in order, with one table for each run of objects of one class, and their number.
    ///
    /// - Parameter total: how many objects match, whatever the limit; nil if the query does not ask for that.
    static func print(_ records: [Record], of total: Int? = nil, to output: StandardOutput) {
        var rest = records[...]
        while let first = rest.first {
            let run = rest.prefix { $0.classSchema.name == first.classSchema.name }
            rest = rest.dropFirst(run.count)
            let table = TableRenderer(first.classSchema)
            for line in table.lines(run.map(TableRenderer.cells)) { output.append(Array((line + "\n").utf8)) }
        }
        output.append(Array((count(records.count, of: total) + "\n").utf8))
    }

    /// The number of objects: `1 object`, or `20 of 12,304 objects`.
    static func count(_ count: Int, of total: Int?) -> String {
        let whole = total.map { " of \(GroupedNumber.text($0))" } ?? ""
        return "\(GroupedNumber.text(count))\(whole) \(GroupedNumber.noun(total ?? count, "object"))"
    }

    /// The title of a change: the state, the numbers of objects and, for a change from the server, when it was accepted
    /// and by whom, if that is known.
    static func title(_ change: ChangeLine) -> String {
        var parts: [String] = []
        if !change.inserted.isEmpty { parts.append("\(change.inserted.count) inserted") }
        if !change.updated.isEmpty { parts.append("\(change.updated.count) updated") }
        if !change.removed.isEmpty { parts.append("\(change.removed.count) removed") }
        let what = parts.isEmpty ? "no change" : parts.joined(separator: ", ")
        let about = change.isTotalExact ? "" : "about "
        let all = change.total.map { "of \(about)\(GroupedNumber.text($0))" } ?? "in all"
        var title = "── \(change.state): \(what), \(GroupedNumber.text(change.count)) \(all)"
        if let remote = change.remote {
            title += "; accepted \(remote.acceptedAt)"
            if let userID = remote.userID { title += " from \(DisplayText.harmless(userID))" }
        }
        return title
    }

    /// Prints a change: its title, then the objects that it concerns.
    static func print(_ change: ChangeLine, to output: StandardOutput) {
        output.append(Array((title(change) + "\n").utf8))
        let records = change.inserted + change.updated
        if let first = records.first {
            let table = TableRenderer(first.classSchema)
            for line in table.lines(records.map(TableRenderer.cells)) { output.append(Array((line + "\n").utf8)) }
        }
        for removal in change.removed { output.append(Array("removed \(removal.id): \(removal.reason)\n".utf8)) }
    }
}
