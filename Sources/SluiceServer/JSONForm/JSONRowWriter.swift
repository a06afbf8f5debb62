internal import SluiceExchange
internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire

/// Writes a `change` message of the parts of a frame.
struct JSONRowWriter {
    let schema: Schema
    let messages: [ServerMessage]

    private typealias Places = [ObjectRef: String?]

    func text(of change: JSONChange) -> [UInt8] {
        let blocks = change.parts.map { block($0) }
        let values = change.figures.map { self.values($0) } ?? []
        let groups = change.figures.flatMap { figures in
            (try? Query.parse(figures.query, schema: schema)).flatMap { JSONFigures(values, of: $0) }
        }
        return JSONMessage.make("change") { writer in
            writer.name("ids", isFirst: false)
            writer.array(change.subscriptions) { $0.integer($1) }
            writer.member("v", change.version)
            writer.member("state", change.isComplete ? "complete" : "loading")
            // A completion has all groups.
            if change.resets || groups != nil && change.figures?.place == nil { writer.raw(",\"reset\":true") }
            if let progress = change.progress {
                writer.name("progress", isFirst: false)
                writer.write(.double(Double(progress) / 1_000))
            }
            if let groups {
                write(groups, to: &writer)
            } else {
                write(departures: blocks, change, to: &writer)
                write(rows: blocks, places(change), change, to: &writer)
                if let total = change.total ?? values.first?.integer {
                    writer.name("total", isFirst: false)
                    writer.integer(total)
                }
            }
            if let acceptedAt = change.acceptedAt {
                writer.member("at", Timestamp(microseconds: acceptedAt).description)
            }
            write(authors: blocks.flatMap(\.authors), change, to: &writer)
        }
    }

    private func block(_ part: JSONChange.Part) -> ViewBlock {
        switch messages[part.message] {
        case .page(let page): page.content
        case .commit(let commit): commit.blocks[part.block].content
        default: ViewBlock()
        }
    }

    /// Figures as they were sent.
    private func values(_ figures: JSONChange.Figures) -> [Value] {
        switch (messages[figures.message], figures.place) {
        case (.complete(let complete), nil): complete.figures ?? []
        case (.commit(let commit), let place?): commit.figures[place].values
        default: []
        }
    }

    /// What the frames say about the places of the results among the rows.
    private func places(_ change: JSONChange) -> Places {
        var places: Places = [:]
        for message in messages {
            guard case .places(let told) = message,
                told.subscriptions.contains(where: change.subscriptions.contains)
            else { continue }
            for row in told.rows { places[row.object] = .some(row.key) }
        }
        return places
    }

    // MARK: Members

    private func write(_ groups: JSONFigures, to writer: inout JSONWriter) {
        if groups.hasDepartures {
            writer.name("gone", isFirst: false)
            groups.write(departuresTo: &writer)
        }
        if groups.hasRows {
            writer.name("put", isFirst: false)
            groups.write(rowsTo: &writer)
        }
    }

    private func write(departures blocks: [ViewBlock], _ change: JSONChange, to writer: inout JSONWriter) {
        var isFirst = true
        for departure in blocks.lazy.flatMap(\.departures) {
            if departure.role == .linked, !change.showsLinks { continue }
            isFirst ? writer.raw(",\"gone\":[") : writer.raw(",")
            isFirst = false
            writer.raw("{")
            writer.object(departure.object, schema)
            writer.member("reason", "\(departure.reason)")
            if departure.role == .linked { writer.raw(",\"@linked\":true") }
            writer.raw("}")
        }
        if !isFirst { writer.raw("]") }
    }

    private func write(
        rows blocks: [ViewBlock], _ told: Places, _ change: JSONChange, to writer: inout JSONWriter
    ) {
        var places = told
        var isFirst = true
        func begin() {
            isFirst ? writer.raw(",\"put\":[") : writer.raw(",")
            isFirst = false
        }
        for group in blocks.lazy.flatMap(\.objects.groups) where schema.classes.indices.contains(group.classIndex) {
            let declared = schema[group.classIndex]
            for row in 0..<group.count {
                let object = ObjectRef(group.classIndex, group.keys[row])
                let place = places.removeValue(forKey: object)
                let isResult = group.role == .root || place != nil
                guard isResult || change.showsLinks else { continue }
                begin()
                writeHead(of: object, declared, place ?? nil, isResult: isResult, to: &writer)
                group.write(propertiesOf: row, declared, to: &writer)
                writer.raw("}")
            }
        }
        // Results that other objects have moved.
        for (object, place) in places.sorted(by: { $0.key < $1.key }) {
            guard let place, schema.classes.indices.contains(object.classIndex) else { continue }
            begin()
            writeHead(of: object, schema[object.classIndex], place, isResult: true, to: &writer)
            writer.raw("}")
        }
        if !isFirst { writer.raw("]") }
    }

    private func writeHead(
        of object: ObjectRef, _ declared: ClassSchema, _ place: String?, isResult: Bool, to writer: inout JSONWriter
    ) {
        writer.raw("{\"@class\":")
        writer.string(declared.name)
        if declared.primaryKey != nil {
            writer.raw(",\"@key\":")
            writer.write(object.key)
        }
        writer.member("@id", Identity(className: declared.name, key: object.key).objectID.description)
        if let place { writer.member("@sort", place) }
        if !isResult { writer.raw(",\"@linked\":true") }
    }

    private func write(authors: [CommitAuthor], _ change: JSONChange, to writer: inout JSONWriter) {
        guard !authors.isEmpty else { return }
        writer.name("authors", isFirst: false)
        writer.array(authors) { writer, author in
            writer.raw("{\"user\":")
            if let user = author.userID { writer.string(user) } else { writer.raw("null") }
            let isOwn = author.clientID != 0 && author.clientID == change.ownClient
            isOwn ? writer.raw(",\"own\":true") : writer.raw(",\"own\":false")
            writer.name("operations", isFirst: false)
            writer.array(author.kinds.sorted { $0.rawValue < $1.rawValue }) { $0.string("\($1)") }
            writer.raw("}")
        }
    }
}

extension ObjectGroup {
    /// Writes the properties of a row as further members of an object, without those that are retired.
    func write(propertiesOf row: Int, _ declared: ClassSchema, to writer: inout JSONWriter) {
        for (position, value) in zip(positions, values(at: row)) where declared.properties.indices.contains(position) {
            guard !declared.properties[position].isRetired else { continue }
            writer.name(declared.properties[position].name, isFirst: false)
            writer.write(value)
        }
    }
}

extension Value {
    fileprivate var integer: Int64? { if case .int(let number) = self { number } else { nil } }
}
