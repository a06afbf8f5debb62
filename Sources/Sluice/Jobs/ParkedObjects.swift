internal import SluiceModel
internal import SluiceQuery
internal import SluiceWire
internal import Synchronization

/// The objects that a consumer has given up: which they are, and which of them are to be handled once more.
final class ParkedObjects: Sendable {
    private let host: any JobHost
    private let name: String
    private let query: JobQuery
    /// What names them, as far as it was read or stored here.
    private let names: Mutex<Set<[UInt8]>> = Mutex([])
    /// The dead letters that there were when the consumer began anew, as long as their objects may be none of its results.
    private let former: Mutex<[JobRecord]> = Mutex([])
    /// How many dead letters are removed together with what their objects have led to.
    private static let removalCountMax = JobWrite.countMax - 100

    init(_ host: any JobHost, _ name: String, _ query: @escaping JobQuery) {
        self.host = host
        self.name = name
        self.query = query
    }

    private var space: String { ConsumerState.deadSpace(name) }

    /// Reads what the database has.
    func read() async throws { _ = try await letters() }

    private func letters() async throws -> [JobRecord] {
        let letters = try await host.records(ofSpace: space)
        names.withLock { $0 = Set(letters.lazy.map(\.key.name)) }
        return letters
    }

    // MARK: Beginning anew

    /// Removes the dead letters of objects that are no results, since nobody is told any more that they have left. What
    /// cannot be removed now is once all results were read.
    func beginAnew() async {
        guard let letters = try? await letters() else { return }
        former.withLock { $0 = letters }
        await removeGone(isOver: false)
    }

    /// Removes the dead letters from before the consumer began anew whose objects have left while it read all results. One
    /// that was stored since stays: what it was to do about an object that has left may be what has failed.
    func removeGone() async { await removeGone(isOver: true) }

    private func removeGone(isOver: Bool) async {
        let letters = former.withLock { $0 }
        guard !letters.isEmpty else { return }
        do {
            let text = try await host.text(of: query)
            let removals = try letters.map { letter in
                JobWrite(
                    letter.key, .remove, if: .value(letter.value),
                    .unmatched(try DeadLetterRecord.identity(of: letter.key.name), query: text))
            }
            let made = try await host.applyAll(removals)
            let gone = Set(zip(letters, made).filter(\.1).map(\.0.key.name))
            names.withLock { $0.subtract(gone) }
            former.withLock { $0 = isOver ? [] : letters.filter { !gone.contains($0.key.name) } }
        } catch {
            // It is tried again when all results were read, or when the consumer finds nothing to do the next time.
            return
        }
    }

    // MARK: Handled once more

    /// Objects that are to be handled although they were given up; nil if there are none.
    ///
    /// - Parameters:
    ///   - place: up to where the log was read.
    ///   - countMax: at most how many.
    func retried(at place: Checkpoint, _ countMax: Int) async throws -> ConsumerChunk? {
        guard case .changes(let version, nil, nil, _) = place.place, names.withLock({ !$0.isEmpty }) else { return nil }
        let keys = try await letters().filter { $0.due != nil }.prefix(countMax)
            .map { try DeadLetterRecord.identity(of: $0.key.name).key }.sorted()
        guard !keys.isEmpty else { return nil }
        // Where the query has a limit, its results are those.
        let results = try await host.list(query).map { Set($0) }
        let found = try await host.rows(keys.filter { results?.contains($0) ?? true }, of: query)
        let rows = Dictionary(found.rows.map { ($0.key, $0) }) { first, _ in first }
        var chunk = ConsumerChunk(
            place, schema: found.schema, classIndex: found.classIndex, version: version, until: version,
            epoch: place.epoch)
        chunk.items = keys.compactMap { key in
            guard let row = rows[key] else { return .removal(key, .filter) }
            // One that has changed since comes by itself.
            return row.version > version ? nil : .upsert(row)
        }
        chunk.epochs = found.epochs
        chunk.keepsPlace = true
        return chunk.items.isEmpty ? nil : chunk
    }

    // MARK: Handled after all

    /// The dead letters of some objects, which go once these are handled.
    struct Removal: Sendable {
        fileprivate let names: [[UInt8]]
        private let space: String

        fileprivate init(_ names: [[UInt8]], of space: String) {
            self.names = names
            self.space = space
        }

        private func writes(_ names: ArraySlice<[UInt8]>) -> [JobWrite] {
            names.map { JobWrite(JobRecord.Key(space: space, name: $0), .remove) }
        }

        /// The changes that one transaction carries with what the objects have led to.
        var writes: [JobWrite] { writes(names.prefix(ParkedObjects.removalCountMax)) }

        /// The changes for which it has no room.
        fileprivate var furtherWrites: [JobWrite] { writes(names.dropFirst(ParkedObjects.removalCountMax)) }
    }

    /// What is to be removed once a part is handled.
    func removal(of part: ChunkPart) -> Removal {
        names.withLock { names in
            Removal(names.isEmpty ? [] : part.names.filter { names.contains($0) }, of: space)
        }
    }

    /// Notes that a transaction has carried ``Removal/writes``.
    func note(_ removal: Removal) async {
        if !removal.furtherWrites.isEmpty { _ = try? await host.applyAll(removal.furtherWrites) }
        names.withLock { $0.subtract(removal.names) }
    }

    /// Notes that objects were given up.
    func note(_ letters: [JobWrite]) { names.withLock { $0.formUnion(letters.lazy.map(\.key.name)) } }
}
