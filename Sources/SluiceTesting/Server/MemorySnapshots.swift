internal import FoundationEssentials
internal import SluiceStorage

/// Snapshots in memory, as one of several servers of one process reaches them.
struct MemorySnapshots: SnapshotService {
    private let shared: SharedSnapshots
    private let server: String
    private let journals: MemoryJournals

    init(_ shared: SharedSnapshots, server: String, journals: MemoryJournals) {
        self.shared = shared
        self.server = server
        self.journals = journals
    }

    func snapshots(ofDatabase name: String) throws -> [Snapshot] {
        try journals.checkItAnswers()
        return shared.snapshots(ofDatabase: name)
    }

    func backlog(ofDatabase name: String) throws -> SnapshotBacklog {
        let newest = try snapshots(ofDatabase: name).first?.head.position ?? 0
        let records = journals.root(ofDatabase: name).records.filter { $0.head.position > newest }
        return SnapshotBacklog(
            byteCount: records.reduce(0) { $0 + $1.bytes.count }, recordCount: records.count, seconds: 0)
    }

    func byteCount(after position: UInt64, ofDatabase name: String) throws -> Int {
        try journals.checkItAnswers()
        return try journals.root(ofDatabase: name).records(after: position, countMax: .max)
            .reduce(0) { $0 + $1.bytes.count }
    }

    func request(_ upkeep: Upkeep, ofDatabase name: String) throws {
        try journals.checkItAnswers()
        shared.request(upkeep, ofDatabase: name)
        journals.tellOfRequest(ofDatabase: name)
    }

    func isRequested(_ upkeep: Upkeep, ofDatabase name: String) throws -> Bool {
        try request(for: upkeep, ofDatabase: name) != nil
    }

    func request(for upkeep: Upkeep, ofDatabase name: String) throws -> UpkeepRequest? {
        try journals.checkItAnswers()
        return shared.request(for: upkeep, ofDatabase: name)
    }

    func finish(_ request: UpkeepRequest) throws {
        try journals.checkItAnswers()
        shared.finish(request)
    }

    func store(_ path: String, at head: JournalHead, holding duty: HeldDuty) throws -> Snapshot {
        try check(duty)
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw StorageError(.io, "\(path) cannot be read")
        }
        return shared.add([UInt8](bytes), at: head, ofDatabase: duty.duty.database)
    }

    func load(_ snapshot: Snapshot, into path: String) throws {
        try journals.checkItAnswers()
        guard let bytes = shared.bytes(of: snapshot) else {
            throw StorageError(.notFound, "the snapshot was removed")
        }
        try Data(bytes).write(to: URL(filePath: path))
    }

    func noteProof(of snapshot: Snapshot, holding duty: HeldDuty) throws {
        try check(duty)
        shared.noteProof(of: snapshot, ofDatabase: duty.duty.database)
    }

    func trim(before position: UInt64, holding duty: HeldDuty) throws -> Int {
        try check(duty)
        shared.remove(before: position, ofDatabase: duty.duty.database)
        return journals.root(ofDatabase: duty.duty.database).trim(before: position)
    }

    func nodes(ofDatabase name: String) throws -> Set<String> {
        try journals.checkItAnswers()
        return journals.servers(ofDatabase: name)
    }

    func note(_ digest: [UInt8], at position: UInt64, ofDatabase name: String) throws {
        try journals.checkItAnswers()
        shared.note(ReplicaDigest(node: server, position: position, digest: digest), ofDatabase: name)
    }

    func lastComparison(ofDatabase name: String) throws -> UInt64 {
        try journals.checkItAnswers()
        return shared.digests(ofDatabase: name).map(\.position).max() ?? 0
    }

    func digests(at position: UInt64, ofDatabase name: String) throws -> [ReplicaDigest] {
        try journals.checkItAnswers()
        return shared.digests(ofDatabase: name).filter { $0.position == position }
    }

    private func check(_ duty: HeldDuty) throws {
        try journals.checkItAnswers()
        guard duty.isHeld else { throw DutyLost() }
    }
}
