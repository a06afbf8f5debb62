internal import SluiceStorage
internal import Synchronization

/// The snapshots of databases in memory, what was asked for, and what servers have found when they compared.
final class SharedSnapshots: Sendable {
    private struct Entry {
        var snapshot: Snapshot
        var bytes: [UInt8]
    }

    private struct State {
        var lastID: Int64 = 0
        /// The snapshots of each database, the newest first.
        var entries: [String: [Entry]] = [:]
        var requests: [String: [UpkeepRequest]] = [:]
        var requestCount: Int64 = 0
        var digests: [String: [ReplicaDigest]] = [:]
    }

    private let state = Mutex(State())

    func snapshots(ofDatabase name: String) -> [Snapshot] {
        state.withLock { $0.entries[name, default: []].map(\.snapshot) }
    }

    func add(_ bytes: [UInt8], at head: JournalHead, ofDatabase name: String) -> Snapshot {
        state.withLock { state in
            state.lastID += 1
            let snapshot = Snapshot(id: state.lastID, head: head, byteCount: bytes.count, isProved: false)
            state.entries[name, default: []].insert(Entry(snapshot: snapshot, bytes: bytes), at: 0)
            return snapshot
        }
    }

    func bytes(of snapshot: Snapshot) -> [UInt8]? {
        state.withLock { $0.entries.values.joined().first { $0.snapshot.id == snapshot.id }?.bytes }
    }

    func damage(_ snapshot: Snapshot) {
        state.withLock { state in
            for (name, entries) in state.entries {
                guard let index = entries.firstIndex(where: { $0.snapshot.id == snapshot.id }) else { continue }
                state.entries[name]?[index].bytes[0] ^= 1
            }
        }
    }

    func noteProof(of snapshot: Snapshot, ofDatabase name: String) {
        state.withLock { state in
            guard let index = state.entries[name]?.firstIndex(where: { $0.snapshot.id == snapshot.id }) else { return }
            state.entries[name]?[index].snapshot.isProved = true
        }
    }

    func remove(before position: UInt64, ofDatabase name: String) {
        state.withLock { $0.entries[name]?.removeAll { $0.snapshot.head.position < position } }
    }

    func request(_ upkeep: Upkeep, ofDatabase name: String) {
        state.withLock { state in
            state.requestCount += 1
            state.requests[name, default: []].removeAll { $0.upkeep == upkeep }
            state.requests[name, default: []].append(
                UpkeepRequest(upkeep: upkeep, database: name, number: state.requestCount))
        }
    }

    func request(for upkeep: Upkeep, ofDatabase name: String) -> UpkeepRequest? {
        state.withLock { $0.requests[name]?.first { $0.upkeep == upkeep } }
    }

    func finish(_ request: UpkeepRequest) {
        state.withLock { $0.requests[request.database]?.removeAll { $0 == request } }
    }

    func note(_ digest: ReplicaDigest, ofDatabase name: String) {
        state.withLock { $0.digests[name, default: []].append(digest) }
    }

    func digests(ofDatabase name: String) -> [ReplicaDigest] { state.withLock { $0.digests[name] ?? [] } }
}
