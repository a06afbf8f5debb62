#if PostgreSQL

internal import Synchronization

/// The databases whose journals are open on this node.
final class JournalPlaces: Sendable {
    private struct Reference { weak var place: JournalPlace? }

    private let references = Mutex<[Int64: Reference]>([:])

    /// The one place of a database, as long as a journal has it.
    func place(id: Int64, name: String) -> JournalPlace {
        references.withLock { references in
            if let place = references[id]?.place { return place }
            references = references.filter { $0.value.place != nil }
            let place = JournalPlace(id: id, name: name)
            references[id] = Reference(place: place)
            return place
        }
    }

    subscript(id: Int64) -> JournalPlace? { references.withLock { $0[id]?.place } }

    /// The number of an open database. O(open databases).
    func id(ofDatabase name: String) -> Int64? {
        references.withLock { $0.values.lazy.compactMap(\.place).first { $0.name == name }?.id }
    }

    var all: [JournalPlace] { references.withLock { $0.values.compactMap(\.place) } }
}

#endif
