internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

extension DatabaseEngine {
    /// Answers a request for a report.
    func report(_ request: ClientMessage.ReportRequest, session: ServerSession) {
        guardingStorage(session) {
            do {
                try answer(request, session: session)
            } catch let error as StorageError where error.isOfDamage {
                noteFailure("a report could not be made", error)
                let failure = ServerMessage.ReportError(
                    session: request.session, request: request.request, code: .databaseDamaged,
                    message: "\(Self.damage(of: name, error)); it has to be restored from a backup")
                send([.reportError(failure)], to: session.id)
            }
        }
    }

    private func answer(_ request: ClientMessage.ReportRequest, session: ServerSession) throws {
        let json: JSONText
        switch request.topic {
        case .status: json = try status()
        case .subscriptions: json = subscriptionList()
        case .schema: json = try schemaReport()
        case .explain: return try explain(request, to: session)
        default:
            let failure = ServerMessage.ReportError(
                session: request.session, request: request.request, code: .unknownReport,
                message: "this server has no report \(request.topic.rawValue)")
            return send([.reportError(failure)], to: session.id)
        }
        let bytes = Array(json.text.utf8)
        guard bytes.count <= limits.data.objectByteCount else {
            let failure = ServerMessage.ReportError(
                session: request.session, request: request.request, code: .limitExceeded,
                message: "the report takes \(bytes.count) bytes; at most \(limits.data.objectByteCount) are sent")
            return send([.reportError(failure)], to: session.id)
        }
        send([.report(session: request.session, request: request.request, json: bytes)], to: session.id)
    }

    /// A number that is counted on disk; null if damage prevents counting.
    func number(_ count: () throws -> Int) throws -> JSONText {
        do { return .number(UInt64(try count())) } catch let error as StorageError where error.isOfDamage {
            noteFailure("something could not be counted", error)
            return .null
        }
    }

    private func status() throws -> JSONText {
        // Counting may meet damage.
        let clientCount = try number { try storage.clientCount }
        let classes = try storage.schema.classes.indices.filter { !storage.schema[$0].isRetired }.map { index in
            JSONText.object([
                ("name", .string(storage.schema[index].name)),
                ("count", try number { try storage.count(ofClass: index) }),
            ])
        }
        return .object([
            ("database", .string(name)),
            ("databaseID", .string(storage.databaseID.description)),
            ("damage", .string(storage.damage.map { Self.damage(of: name, $0) } ?? "")),
            ("version", .number(storage.version)),
            ("logStart", .number(storage.logStart)),
            ("classes", .array(classes)),
            ("indexes", .array(try storage.indexes().map(Self.index))),
            ("clients", clientCount),
            ("sessions", .number(UInt64(sessions.count))),
            ("views", .number(UInt64(views.count))),
            ("subscriptions", .number(UInt64(sessions.values.reduce(0) { $0 + $1.subscriptions.count }))),
            ("commits", .number(statistics.commitCount)),
            ("commitGroups", .number(statistics.groupCount)),
            ("changedObjects", .number(statistics.changedObjectCount)),
            ("supersededOperations", .number(statistics.supersededOperationCount)),
            ("rejectedTransactions", .number(statistics.rejectedChangesetCount)),
            ("pagesSent", .number(statistics.sentPageCount)),
            ("digestsSent", .number(statistics.sentDigestCount)),
            (
                "subscriptionsStarted",
                .object([
                    ("current", .number(statistics.starts[.current])),
                    ("replayed", .number(statistics.starts[.replayed])),
                    ("equal", .number(statistics.starts[.equal])),
                    ("compared", .number(statistics.starts[.compared])),
                    ("anew", .number(statistics.starts[.anew])),
                ])
            ),
        ])
    }

    private static func index(_ index: QueryExplanation.Index) -> JSONText {
        .object([
            ("class", .string(index.className)),
            ("properties", .string(index.properties.joined(separator: ", "))),
            ("origin", .string(index.origin.rawValue)),
            ("name", .string(index.name)),
        ])
    }

    private func subscriptionList() -> JSONText {
        let ordered = views.values.map { (text: $0.query.canonicalText, view: $0) }
            .sorted { UTF8Order.less($0.text, $1.text) }
        return .array(
            ordered.map { text, view in
                .object([
                    ("query", .string(text)),
                    ("hash", .string(view.query.hash.description)),
                    ("subscribers", .number(UInt64(view.subscriptions.count))),
                    ("bootstrapping", .number(UInt64(view.subscriptions.count { !$0.isComplete }))),
                ])
            })
    }
}
