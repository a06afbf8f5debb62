internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceWire

/// The questions of clients' jobs that are not answered yet: those whose answers are being read beside the writer, or wait
/// to be, and those that wait for a commit, or for other rights.
final class JobCalls {
    /// A question whose answer is read.
    struct Reading {
        let call: ClientMessage.JobCall
        let session: SessionID
        let making: JobReading
        /// The state for which it was made.
        let basis: Basis
    }

    /// What a reading depends on: it is read at the state for which it was made, and as its user may read then.
    struct Basis {
        let version: UInt64
        let epoch: UInt64
        let access: AccessBinding
        let schema: Schema

        static func == (left: Basis, right: Basis) -> Bool {
            left.version == right.version && left.epoch == right.epoch && left.isReadAlike(as: right)
        }

        /// Whether the user may read the same, of the same classes, at whatever versions.
        func isReadAlike(as other: Basis) -> Bool { access === other.access && schema == other.schema }
    }

    private struct Wait {
        let session: SessionID
        let request: UInt64
        let moment: UInt64
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

    /// How many more answers may be read at the same time.
    private var roomCount: Int { max(1, database.limits.pageReaderCount) - readings.count }

    /// Makes those anew that are read next, where they were made for an earlier state: a page whose rows are of a later
    /// version than it says would be given twice, and one that is read as its user could read before would tell too much.
    ///
    /// - Parameters:
    ///   - basis: the state as it is for a session; nil if that has ended.
    ///   - make: makes a reading for that state; nil if the question was answered.
    func renew(_ basis: (SessionID) -> Basis?, _ make: (Reading) -> Reading?) {
        var index = 0
        while index < min(waiting.count, roomCount) {
            let next = waiting[index]
            if let basis = basis(next.session), basis == next.basis {
                index += 1
                continue
            }
            waiting.remove(at: index)
            if let made = make(next) {
                waiting.insert(made, at: min(index, waiting.count))
                index += 1
            } else {
                end(next.session)
            }
        }
    }

    /// Removes and returns the next answer that is to be read beside the writer; nil if there is none.
    ///
    /// - Parameter basis: as for ``renew(_:_:)``.
    func takeReading(_ basis: (SessionID) -> Basis?) -> QueryPreparation? {
        guard roomCount > 0, let next = waiting.first, let present = basis(next.session), present == next.basis,
            let snapshot = try? database.storage.snapshot()
        else { return nil }
        waiting.removeFirst()
        let preparation = QueryPreparation(
            .reading(next.making), for: next.session, of: database, on: snapshot, endsWithSession: true)
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

    /// Has a question answered once a session's moment is another one.
    ///
    /// - Parameter moment: that of the last answer; `UInt64.max` to be told the version of the database at once.
    /// - Returns: false if the session asks too much at once.
    func wait(_ session: SessionID, request: UInt64, after moment: UInt64) -> Bool {
        guard begin(session) else { return false }
        waits.append(Wait(session: session, request: request, moment: moment))
        return true
    }

    /// Answers what waited for another moment.
    ///
    /// - Parameters:
    ///   - version: the version of the database now.
    ///   - moment: what tells the present state from others, as the user of a session sees it.
    func answerWaits(
        at version: UInt64, moment: (SessionID) -> UInt64, _ output: inout TurnOutput
    ) {
        guard !waits.isEmpty else { return }
        var left: [Wait] = []
        for wait in waits {
            let present = wait.moment == .max ? version : moment(wait.session)
            guard present != wait.moment else {
                left.append(wait)
                continue
            }
            var writer = ByteWriter()
            writer.varint(present)
            let answer = ServerMessage.report(
                session: wait.session.session, request: wait.request, json: writer.bytes)
            output.send([answer], to: wait.session)
            end(wait.session)
        }
        waits = left
    }
}
