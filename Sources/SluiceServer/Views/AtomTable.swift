internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews

/// One atom of what readers of a query may read, as a live view that many readers' views hold.
final class Atom {
    /// The query, the rest of what its readers may read, and the atom.
    struct Key: Hashable {
        let query: ObjectID
        let rest: ObjectID
        let condition: ObjectID
    }

    let key: Key
    /// The view of a reader who has this atom alone. It holds nothing.
    let live: LiveView
    /// The numbers of the views that hold the atom.
    var holders: Set<UInt32> = []

    init(_ key: Key, _ live: LiveView) {
        self.key = key
        self.live = live
    }
}

/// The atoms that views are found by.
///
/// A view whose reader has 50 teams is 50 atoms, which it shares with everybody who has one of these teams. A change
/// finds the atoms, and these know their holders.
struct AtomTable {
    private var atoms: [Int: Atom] = [:]
    private var numbers: [Atom.Key: UInt32] = [:]
    /// The numbers of the atoms that each holder has, ascending.
    private var held: [UInt32: [UInt32]] = [:]
    /// The atoms that nobody holds. They are kept for a moment, since a reader whose rights change lets go of all atoms
    /// before taking most of them again.
    private var idle: Set<UInt32> = []

    /// With more idle atoms, they are dropped at once.
    private static let idleCountMax = 10_000

    /// The atom with a number in the index; nil if the number is that of another view.
    subscript(number: Int) -> Atom? { atoms[number] }

    /// The numbers of the atoms by which changes find a view, ascending; empty if they find it as a whole.
    func atoms(of holder: UInt32) -> [UInt32] { held[holder] ?? [] }

    /// Lets a view hold its atoms.
    ///
    /// - Parameter file: files the view of an atom that is new, and returns its number.
    mutating func hold(
        _ parts: ReadAtoms, of query: Query, by holder: UInt32, _ file: (Query) -> (live: LiveView, number: UInt32)
    ) {
        var taken: [UInt32] = []
        taken.reserveCapacity(parts.conditions.count)
        for condition in parts.conditions {
            let key = Atom.Key(query: query.hash, rest: parts.rest.id, condition: condition.hash)
            if let known = numbers[key] {
                taken.append(known)
                continue
            }
            guard let context = parts.context(of: condition) else {
                preconditionFailure("what can be divided into atoms has a context for each")
            }
            let (live, number) = file(query.read(in: context))
            atoms[Int(number)] = Atom(key, live)
            numbers[key] = number
            taken.append(number)
        }
        taken.sort()
        for number in taken {
            atoms[Int(number)]?.holders.insert(holder)
            idle.remove(number)
        }
        held[holder] = taken
    }

    /// Lets a view go of its atoms, if it has any.
    mutating func release(by holder: UInt32) {
        for number in held.removeValue(forKey: holder) ?? [] {
            guard let atom = atoms[Int(number)] else { continue }
            atom.holders.remove(holder)
            if atom.holders.isEmpty { idle.insert(number) }
        }
    }

    var hasManyIdle: Bool { idle.count > Self.idleCountMax }

    /// Removes and returns the atoms that nobody holds.
    mutating func takeIdle() -> [Atom] {
        guard !idle.isEmpty else { return [] }
        let dropped = idle.sorted().compactMap { atoms.removeValue(forKey: Int($0)) }
        for atom in dropped { numbers[atom.key] = nil }
        idle = []
        return dropped
    }
}
