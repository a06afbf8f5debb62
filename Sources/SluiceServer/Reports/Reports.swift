internal import SluiceModel
internal import SluiceQuery
internal import SluiceRules
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Answers requests for reports. It only reads.
struct Reports {
    /// What the parts of the engine know at the moment.
    struct Facts {
        let sessionCount: Int
        let subscriptionCount: Int
        let views: [SharedView]
        let statistics: DatabaseStatistics
    }

    let database: Database
    let indexes: IndexKeeper

    var storage: SQLiteServerStorage { database.storage }

    /// The answer to a request.
    ///
    /// - Throws: ``StorageError`` that ends the session.
    func answer(
        _ request: ClientMessage.ReportRequest, to access: AccessBinding, _ facts: () -> Facts
    ) throws -> ServerMessage {
        guard access.has(.reports) else { return request.refusal }
        do {
            let json: JSONText
            switch request.topic {
            case .status: json = try status(facts())
            case .subscriptions: json = subscriptionList(facts().views)
            case .schema: json = try schemaReport()
            case .top: json = try top(facts())
            case .explain: return try explain(request, as: access)
            case .consumers: json = try JobReports(database: database).consumers()
            case .queues: json = try JobReports(database: database).queues()
            case .dead:
                guard let letters = try JobReports(database: database).dead(request.argument) else {
                    return request.failure(
                        .invalidQuery, "the argument is {\"queue\":NAME} or {\"consumer\":NAME}")
                }
                json = letters
            default:
                return request.failure(.unknownReport, "this server has no report \(request.topic.rawValue)")
            }
            let bytes = Array(json.text.utf8)
            let countMax = database.limits.data.objectByteCount
            guard bytes.count <= countMax else {
                return request.failure(
                    .limitExceeded, "the report takes \(bytes.count) bytes; at most \(countMax) are sent")
            }
            return .report(session: request.session, request: request.request, json: bytes)
        } catch let error as StorageError where error.isOfDamage {
            database.noteFailure("a report could not be made", error)
            return request.failure(
                .databaseDamaged,
                "\(Consequence.damage(of: database.name, error)); it has to be restored from a backup")
        }
    }

    /// A number that is counted on disk; null if damage prevents counting.
    func number(_ count: () throws -> Int) throws -> JSONText {
        do { return .number(UInt64(try count())) } catch let error as StorageError where error.isOfDamage {
            database.noteFailure("something could not be counted", error)
            return .null
        }
    }

    private func status(_ facts: Facts) throws -> JSONText {
        // Counting may meet damage.
        let clientCount = try number { try storage.clientCount }
        let classes = try storage.schema.classes.indices.filter { !storage.schema[$0].isRetired }.map { index in
            JSONText.object([
                ("name", .string(storage.schema[index].name)),
                ("count", try number { try storage.count(ofClass: index) }),
            ])
        }
        return .object(
            node + [
                ("database", .string(database.name)),
                ("databaseID", .string(storage.databaseID.description)),
                ("damage", .string(storage.damage.map { Consequence.damage(of: database.name, $0) } ?? "")),
                ("version", .number(storage.version)),
                ("logStart", .number(storage.logStart)),
                ("classes", .array(classes)),
                ("indexes", .array(try storage.indexes().map(Self.index))),
                ("clients", clientCount),
                ("sessions", .number(UInt64(facts.sessionCount))),
                ("views", .number(UInt64(facts.views.count))),
                ("subscriptions", .number(UInt64(facts.subscriptionCount))),
                ("commits", .number(facts.statistics.commits.commitCount)),
                ("commitGroups", .number(facts.statistics.commits.groupCount)),
                ("changedObjects", .number(facts.statistics.commits.changedObjectCount)),
                ("supersededOperations", .number(facts.statistics.commits.supersededOperationCount)),
                ("rejectedTransactions", .number(facts.statistics.commits.rejectedChangesetCount)),
                ("pagesSent", .number(facts.statistics.sentPageCount)),
                ("digestsSent", .number(facts.statistics.sentDigestCount)),
                (
                    "subscriptionsStarted",
                    .object([
                        ("current", .number(facts.statistics.starts[.current])),
                        ("replayed", .number(facts.statistics.starts[.replayed])),
                        ("equal", .number(facts.statistics.starts[.equal])),
                        ("compared", .number(facts.statistics.starts[.compared])),
                        ("anew", .number(facts.statistics.starts[.anew])),
                    ])
                ),
            ])
    }

    /// Which node of a cluster says something that it knows of itself alone.
    private var node: [(String, JSONText)] { database.journal?.nodeName.map { [("node", .string($0))] } ?? [] }

    private static func index(_ index: QueryExplanation.Index) -> JSONText {
        .object([
            ("class", .string(index.className)),
            ("properties", .string(index.properties.joined(separator: ", "))),
            ("origin", .string(index.origin.rawValue)),
            ("name", .string(index.name)),
        ])
    }

    private func subscriptionList(_ views: [SharedView]) -> JSONText {
        let ordered = views.map { (text: $0.query.canonicalText, view: $0) }
            .sorted { UTF8Order.less($0.text, $1.text) }
        return .array(
            ordered.map { text, view in
                .object(
                    node + [("query", .string(text)), ("hash", .string(view.query.hash.description))]
                        + Self.members(of: view))
            })
    }
}

extension ClientMessage.ReportRequest {
    /// The answer to a user without the right to reports.
    var refusal: ServerMessage {
        failure(.permissionDenied, "the server's rules do not let this user ask for reports")
    }

    func failure(_ code: ErrorCode, _ message: String, position: Int? = nil) -> ServerMessage {
        .reportError(
            .init(
                session: session, request: request, code: code, message: message, position: position.map(UInt64.init)))
    }
}
