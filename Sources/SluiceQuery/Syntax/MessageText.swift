internal import SluiceModel

extension String {
    /// A name as messages show it: of a long one, the beginning.
    var shortened: String { utf8.count > 64 ? prefix(32) + "…" : self }
}

extension LiteralSyntax {
    /// The name of the constant's type as messages show it.
    var typeName: String {
        switch kind {
        case .value(let value): value.kindName
        case .number(let digits): digits.utf8.allSatisfy { $0 == 0x2D || (0x30...0x39).contains($0) } ? "int" : "double"
        case .instant: "date"
        case .untyped: "text"
        case .object, .member: "link"
        case .now: "$now"
        case .variable(let variable): variable.description
        }
    }
}
