/// The kinds of operation that a commit is made of, as change events report them.
public enum OperationKind: String, Sendable, Hashable, CaseIterable {
    case create, delete, set, setDefault, add
    case listInsert, listSet, listMove, listErase
    case setInsert, setErase, mapSet, mapErase, clear

    /// A stable number: the position in this declaration.
    package var code: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
