internal import SluiceViews

/// What a commit changes for the holders of the atoms that it concerns.
///
/// Where objects only change that a reader had before and has after, every atom that has them tells the same, and so
/// does the reader's view: then it need not look. Where an object comes to an atom or leaves it, the view may have it by
/// another atom, which may not have been found, and has to look.
struct AtomChanges {
    private enum Change {
        /// The position of the change in ``deltas``.
        case told(Int)
        case unknown
    }

    private var deltas: [ViewDelta] = []
    private var byHolder: [UInt32: Change] = [:]

    var isEmpty: Bool { byHolder.isEmpty }

    /// The numbers of the views that the commit concerns through their atoms, in no particular order.
    var holders: some Sequence<UInt32> { byHolder.keys }

    /// What the view with a number tells of the commit; nil if it has to work that out.
    func told(to holder: UInt32) -> ViewDelta? {
        guard case .told(let position) = byHolder[holder] else { return nil }
        return deltas[position]
    }

    /// Adds what an atom tells of the commit.
    ///
    /// - Parameter delta: nil if it could not be worked out.
    mutating func add(_ delta: ViewDelta?, of atom: Atom) {
        guard let delta, delta.onlyUpdates else {
            for holder in atom.holders { byHolder[holder] = .unknown }
            return
        }
        let position = deltas.firstIndex(of: delta) ?? deltas.count
        if position == deltas.count { deltas.append(delta) }
        for holder in atom.holders {
            switch byHolder[holder] {
            case nil: byHolder[holder] = .told(position)
            case .told(position): break
            case .told, .unknown: byHolder[holder] = .unknown
            }
        }
    }
}

extension ViewDelta {
    /// Whether nothing comes or leaves.
    fileprivate var onlyUpdates: Bool {
        entered.isEmpty && left.isEmpty && linkedEntered.isEmpty && linkedLeft.isEmpty
    }
}
