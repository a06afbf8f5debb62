internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceWire

/// The questions of clients' jobs that are not answered yet: those whose answers are being read beside the writer, or wait
/// to be, and those that wait for a commit.
final class JobCalls {
    /// A question whose answer is read.
    struct Reading {
        let call: ClientMessage.JobCall
        let session: SessionID
        let making: JobReading
    }

    private struct Wait {
        let session: SessionID
        let request: UInt64
        let version: UInt64
    }

    private let database: Database
    private var waiting: [Reading] = []
    private var readings: [ObjectIdentifier: Reading] = [:]
    private var waits: [Wait] = []
    private var counts: [SessionID: Int] = [:]
    /// The most questions of a session that are open.
    static let countMax = 64

    init(_ database: Database) { self.database = database }

    /// Counts a question of a session.
    ///
    /// - Returns: false if it has too many that are not answered.
    private func begin(_ session: SessionID) -> Bool {
        guard counts[session, default: 0] < Self.countMax else { return false }
        counts[session, default: 0] += 1
        return true
    }

    private func end(_ session: SessionID) {
        guard let count = counts[session] else { return }
        counts[session] = count > 1 ? count - 1 : nil
    }

    /// Forgets a session that has ended.
    func close(_ session: SessionID) {
        counts[session] = nil
        waiting.removeAll { $0.session == session }
        waits.removeAll { $0.session == session }
    }

    // MARK: Reading

    /// Has an answer read beside the writer as soon as there is room.
    ///
    /// - Returns: false if the session asks too much at once.
    func read(_ reading: Reading) -> Bool {
        guard begin(reading.session) else { return false }
        waiting.append(reading)
        return true
    }

    /// Removes and returns the next answer that is to be read beside the writer; nil if there is none.
    func takeReading() -> QueryPreparation? {
        guard readings.count < max(1, database.limits.pageReaderCount), let next = waiting.first,
            let snapshot = try? database.storage.snapshot()
        else { return nil }
        waiting.removeFirst()
        let isAbandoned = database.isAbandoned
        let preparation = QueryPreparation(
            .reading(next.making), for: next.session, on: snapshot, stepCountMax: database.limits.queryStepCountMax
        ) { isAbandoned(next.session) }
        readings[ObjectIdentifier(preparation)] = next
        return preparation
    }

    /// Removes and returns what was read; nil if the preparation is of another kind.
    func finish(_ preparation: QueryPreparation) -> Reading? {
        guard let reading = readings.removeValue(forKey: ObjectIdentifier(preparation)) else { return nil }
        end(reading.session)
        return reading
    }

    // MARK: Waiting

    /// Has a question answered once a version after one has been committed.
    ///
    /// - Returns: false if the session asks too much at once.
    func wait(_ session: SessionID, request: UInt64, after version: UInt64) -> Bool {
        guard begin(session) else { return false }
        waits.append(Wait(session: session, request: request, version: version))
        return true
    }

    /// Answers what waited for a commit.
    ///
    /// - Parameter version: the version of the database now.
    func answerWaits(at version: UInt64, _ output: inout TurnOutput) {
        guard waits.contains(where: { $0.version != version }) else { return }
        var writer = ByteWriter()
        writer.varint(version)
        for wait in waits where wait.version != version {
            let answer = ServerMessage.report(
                session: wait.session.session, request: wait.request, json: writer.bytes)
            output.send([answer], to: wait.session)
            end(wait.session)
        }
        waits.removeAll { $0.version != version }
    }
}
