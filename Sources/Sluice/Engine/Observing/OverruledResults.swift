internal import SluiceModel

/// For each observer, the objects about which pending writes of linked objects decide otherwise than the server has
/// answered. They are judged again once such writes may have ceased to be pending, since then nothing else needs to have
/// changed.
final class OverruledResults {
    private var objects: [UInt64: Set<ObjectRef>] = [:]

    var isEmpty: Bool { objects.isEmpty }

    /// The observers that have any, each with its objects.
    var all: [(observer: UInt64, objects: Set<ObjectRef>)] {
        objects.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    func contains(_ object: ObjectRef, of observer: UInt64) -> Bool { objects[observer]?.contains(object) ?? false }

    func note(_ object: ObjectRef, of observer: UInt64, isOverruled: Bool) {
        if isOverruled {
            objects[observer, default: []].insert(object)
        } else if objects[observer]?.remove(object) != nil, objects[observer]?.isEmpty ?? false {
            objects[observer] = nil
        }
    }

    /// Takes these for all of an observer.
    func replace(of observer: UInt64, with overruled: some Sequence<ObjectRef>) {
        let overruled = Set(overruled)
        objects[observer] = overruled.isEmpty ? nil : overruled
    }

    func removeAll(of observer: UInt64) { objects[observer] = nil }
}
