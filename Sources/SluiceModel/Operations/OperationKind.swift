/// The kinds of operations in a commit, as change events report them.
public enum OperationKind: String, Sendable, Hashable, CaseIterable {
    /// An object was created.
    case create
    /// An object was deleted.
    case delete
    /// A property, or a collection as a whole, was set.
    case set
    /// An update gave a property a default, as a client in another language may. Defaults that come with a creation count
    /// as ``create``, like everything else that it sets.
    case setDefault
    /// An amount was added to a number.
    case add
    /// An element was inserted into a list.
    case listInsert
    /// An element of a list was set.
    case listSet
    /// An element of a list was moved.
    case listMove
    /// An element was removed from a list.
    case listErase
    /// An element was inserted into a set.
    case setInsert
    /// An element was removed from a set.
    case setErase
    /// An entry of a map was set.
    case mapSet
    /// An entry was removed from a map.
    case mapErase
    /// A collection was emptied.
    case clear

    /// The stable number of the kind: its position in this declaration.
    package var code: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
