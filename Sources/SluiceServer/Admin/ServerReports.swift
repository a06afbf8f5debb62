internal import SluiceJSON
internal import SluiceModel
internal import SluiceWire
internal import Synchronization

/// Answers those reports of a database's sessions that concern the server: what the admin socket and the metrics tell,
/// as far as it is of that database. On a development server they are of all databases.
///
/// The database has judged that the user has the right `reports`.
final class ServerReports: Sendable {
    /// What the answers are made of.
    struct Sources: Sendable {
        let sessions: SessionSurvey
        let names: @Sendable () -> [String]
        let health: @Sendable () -> ServerHealth
        let metrics: @Sendable () async -> [MetricFamily]
        let log: LogRing
        /// Whether users of one database are told of the others.
        let tellsAll: Bool
        let now: @Sendable () -> Timestamp
    }

    private let sources = Mutex<Sources?>(nil)

    /// Says what the answers are made of, once that is there.
    func begin(_ sources: Sources) { self.sources.withLock { $0 = sources } }

    /// Answers a request of a session, later.
    func answer(_ request: ClientMessage.ReportRequest, of database: String, to peer: PeerConnection) {
        guard let sources = sources.withLock({ $0 }) else { return }
        Task {
            let answer: ServerMessage
            do throws(RequestRejection) {
                let json = try await sources.answer(request, of: database, to: peer)
                answer = .report(session: request.session, request: request.request, json: Array(json.text.utf8))
            } catch {
                answer = error.answer(to: request)
            }
            peer.transmit(OutgoingFrame(Frame.encode(answer)), now: sources.now())
        }
    }
}

extension ServerReports.Sources {
    fileprivate func answer(
        _ request: ClientMessage.ReportRequest, of database: String, to peer: PeerConnection
    ) async throws(RequestRejection) -> JSONText {
        switch request.topic {
        case .sessions: return await sessions.sessions(ofDatabase: tellsAll ? nil : database)
        case .endSession:
            guard let name = (try? JSONParser.parse(request.argument))?["session"]?.string else {
                throw .init(code: .invalidQuery, message: "the argument is {\"session\":NAME}")
            }
            let asker = peer.openSessions[request.session]?.user.id
            guard sessions.end(name, ofDatabase: tellsAll ? nil : database, by: asker) else {
                throw .init(code: .unknownName, message: "there is no such session; it may have ended")
            }
            return .object([("ended", .string(name))])
        case .databases: return .array((tellsAll ? names() : [database]).map { .string($0) })
        case .health: return .raw(health().json)
        case .metrics:
            let families = await metrics()
            return .array(families.flatMap { family in family.samples.compactMap { json($0, of: family, database) } })
        case .log:
            guard case .integer(let after) = try member("after", of: request) else {
                throw .init(code: .invalidQuery, message: "the argument is {\"after\":NUMBER}")
            }
            return log.json(after: UInt64(max(0, after)), database: tellsAll ? nil : database)
        default:
            throw .init(code: .unknownReport, message: "this server has no report \(request.topic.rawValue)")
        }
    }

    private func member(
        _ name: String, of request: ClientMessage.ReportRequest
    ) throws(RequestRejection) -> JSONValue {
        guard let json = try? JSONParser.parse(request.argument), let value = json[name] else {
            throw .init(code: .invalidQuery, message: "the argument is an object with a member '\(name)'")
        }
        return value
    }

    /// A sample; nil if it is of another database.
    private func json(_ sample: MetricFamily.Sample, of family: MetricFamily, _ database: String) -> JSONText? {
        let isOfOther = sample.labels.contains { $0.name == "database" && $0.value != database }
        guard tellsAll || !isOfOther, sample.value.isFinite else { return nil }
        let number = Int64(exactly: sample.value).map { String($0) } ?? String(sample.value)
        return .object([
            ("name", .string(family.name + sample.suffix)),
            ("labels", .object(sample.labels.map { ($0.name, .string($0.value)) })), ("value", .raw(number)),
        ])
    }
}
