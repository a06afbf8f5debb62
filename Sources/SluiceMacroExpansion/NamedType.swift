internal import SwiftSyntax
internal import SwiftSyntaxBuilder

/// A type that the macro does not know, in the place where a property's type names it: `Owner` in `[String: Owner]?`.
///
/// If it is a model, the property must hold links. Only the compiler knows that, so the macro writes declarations that it
/// can match.
struct NamedType {
    /// The property's type with `SluiceHeld` in the place of the named type.
    let pattern: String
    /// What the property's type would be if the named type is a model.
    let linkType: String

    /// - Returns: nil for a type that names no other, or of a form that no property has.
    init?(_ type: TypeSyntax) {
        guard type.namesOwnType else { return nil }
        switch type.as(TypeSyntaxEnum.self) {
        case .optionalType(let optional): self.init(optional.wrappedType, in: { "\($0)?" }, { $0 })
        case .implicitlyUnwrappedOptionalType(let optional):
            self.init(optional.wrappedType, in: { "\($0)?" }, { $0 })
        case .arrayType(let array): self.init(element: array.element, in: { "[\($0)]" }, { "Links<\($0)>" })
        case .dictionaryType(let map):
            self.init(element: map.value, in: { "[String: \($0)]" }, { "[String: Link<\($0)>]" })
        case .identifierType(let identifier):
            let arguments = identifier.genericArgumentClause?.arguments.compactMap { argument in
                if case .type(let type) = argument.argument { type } else { nil }
            }
            switch (identifier.name.text, arguments?.last) {
            case ("Optional", let wrapped?): self.init(wrapped, in: { "\($0)?" }, { $0 })
            case ("Array", let element?): self.init(element: element, in: { "[\($0)]" }, { "Links<\($0)>" })
            case ("Set", let element?): self.init(element: element, in: { "Set<\($0)>" }, { "Set<Link<\($0)>>" })
            case ("Dictionary", let value?):
                self.init(element: value, in: { "[String: \($0)]" }, { "[String: Link<\($0)>]" })
            default: self.init(pattern: "SluiceHeld", linkType: "Link<\(identifier.trimmedDescription)>?")
            }
        case .memberType(let member): self.init(pattern: "SluiceHeld", linkType: "Link<\(member.trimmedDescription)>?")
        default: return nil
        }
    }

    private init(pattern: String, linkType: String) {
        self.pattern = pattern
        self.linkType = linkType
    }

    /// A type within another.
    private init?(_ inner: TypeSyntax, in pattern: (String) -> String, _ linkType: (String) -> String) {
        guard let inner = NamedType(inner) else { return nil }
        self.init(pattern: pattern(inner.pattern), linkType: linkType(inner.linkType))
    }

    /// A type whose elements lead to other objects, optional or not.
    private init?(element: TypeSyntax, in pattern: (String) -> String, _ linkType: (String) -> String) {
        guard let inner = NamedType(element) else { return nil }
        let name = inner.linkType.hasPrefix("Link<") ? String(inner.linkType.dropFirst(5).dropLast(2)) : inner.linkType
        self.init(pattern: pattern(inner.pattern), linkType: linkType(name))
    }
}
