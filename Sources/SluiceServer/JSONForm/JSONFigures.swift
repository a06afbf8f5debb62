package import SluiceExchange
package import SluiceModel
package import SluiceQuery
internal import SluiceViews

/// What a query with AGGREGATE computes, as rows: one for each group, or one. They have no class, since they are no
/// objects.
package struct JSONFigures {
    private let aggregates: Query.Aggregates
    /// The groups that are new or have other figures, and the keys of those that are gone.
    private let change: FigureChange

    /// - Parameters:
    ///   - values: the figures or a change of them, as they are sent.
    ///   - query: what has computed them.
    /// - Returns: nil for a query without AGGREGATE, and for figures that cannot be its.
    package init?(_ values: [Value], of query: Query) {
        guard let aggregates = query.aggregates, let change = aggregates.change(values) else { return nil }
        self.aggregates = aggregates
        self.change = change
    }

    var hasRows: Bool { !change.changed.isEmpty }
    var hasDepartures: Bool { !change.removed.isEmpty }

    /// Writes the rows of the groups that are new or have other figures, each with its keys as one key, and its place.
    package func write(rowsTo writer: inout JSONWriter) {
        writer.array(change.changed) { writer, group in
            let columns = aggregates.columns(of: group)
            writer.raw("{\"@key\":")
            writer.array(group.keys) { $0.write($1) }
            writer.member("@sort", aggregates.placeText(of: columns))
            writer.members(aggregates.columnNames, columns, isFirst: false)
            writer.raw("}")
        }
    }

    /// Writes which groups are gone.
    package func write(departuresTo writer: inout JSONWriter) {
        // A group that a LIMIT leaves out may be there still.
        let reason = aggregates.limit == nil ? RemovalReason.filter : .unknown
        writer.array(change.removed) { writer, keys in
            writer.raw("{\"key\":")
            writer.array(keys) { $0.write($1) }
            writer.member("reason", "\(reason)")
            writer.raw("}")
        }
    }

    /// One line of JSON for each group, in the query's order.
    var lines: [[UInt8]] {
        aggregates.shown(change.changed).map { JSONWriter.line(of: aggregates.columnNames, aggregates.columns(of: $0)) }
    }
}
