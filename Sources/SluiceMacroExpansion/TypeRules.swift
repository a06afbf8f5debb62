internal import SwiftSyntax

/// The type that an initial value has by its form alone: a literal, an array of one kind of literal, or a call of a
/// type such as `UUID()`. Nil where only the type checker knows.
func inferredType(of expression: ExprSyntax) -> String? {
    switch expression.as(ExprSyntaxEnum.self) {
    case .stringLiteralExpr: return "Swift.String"
    case .integerLiteralExpr: return "Swift.Int"
    case .floatLiteralExpr: return "Swift.Double"
    case .booleanLiteralExpr: return "Swift.Bool"
    case .prefixOperatorExpr(let prefixed) where ["-", "+"].contains(prefixed.operator.text):
        return inferredType(of: prefixed.expression)
    case .arrayExpr(let array):
        let types = array.elements.map { inferredType(of: $0.expression) }
        guard let first = types.first, let first, types.allSatisfy({ $0 == first }) else { return nil }
        return "[\(first)]"
    case .functionCallExpr(let call):
        let callee = call.calledExpression
        guard callee.is(DeclReferenceExprSyntax.self) || callee.is(GenericSpecializationExprSyntax.self),
            let initial = callee.trimmedDescription.first, initial.isUppercase
        else { return nil }
        return callee.trimmedDescription
    default: return nil
    }
}

/// Why a type, judged by its source alone, cannot be a property's; nil when nothing speaks against it.
func unsupported(_ type: TypeSyntax) -> String? {
    let collections = "a collection holds scalars or links, not collections"
    switch type.as(TypeSyntaxEnum.self) {
    case .tupleType(let tuple) where tuple.elements.count != 1: return "tuples are not values of a store"
    case .functionType: return "functions are not values of a store; mark it @Ignored"
    case .optionalType(let optional):
        return optional.wrappedType.isCollection
            ? "a collection cannot be optional; it can be empty" : unsupported(optional.wrappedType)
    case .arrayType(let array): return array.element.isCollection ? collections : unsupported(array.element)
    case .dictionaryType(let dictionary):
        guard ["String", "Swift.String"].contains(dictionary.key.trimmedDescription) else {
            return "a dictionary's keys are Strings"
        }
        return dictionary.value.isCollection ? collections : unsupported(dictionary.value)
    case .someOrAnyType: return "its type must be concrete"
    case .identifierType(let identifier):
        switch identifier.name.text {
        case "UInt", "UInt64":
            return "\(identifier.name.text) exceeds the store's 64-bit signed integers; use Int64 or UInt32"
        case "Any", "AnyObject": return "its type must be concrete"
        default: return nil
        }
    default: return nil
    }
}

extension TypeSyntax {
    /// Whether the source spells an optional.
    var isOptional: Bool {
        if self.is(OptionalTypeSyntax.self) || self.is(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return true }
        return self.as(IdentifierTypeSyntax.self)?.name.text == "Optional"
    }

    /// Whether the source names a type that only the type checker knows, such as an enum of the module.
    var namesOwnType: Bool {
        switch self.as(TypeSyntaxEnum.self) {
        case .optionalType(let optional): return optional.wrappedType.namesOwnType
        case .arrayType(let array): return array.element.namesOwnType
        case .dictionaryType(let dictionary): return dictionary.value.namesOwnType
        case .identifierType(let identifier):
            if ["Link", "Links", "Backlinks"].contains(identifier.name.text) { return false }
            guard let arguments = identifier.genericArgumentClause?.arguments else {
                return !TypeSyntax.storedTypes.contains(identifier.name.text)
            }
            return arguments.contains { argument in
                if case .type(let type) = argument.argument { type.namesOwnType } else { false }
            }
        case .memberType(let member):
            return !["Swift", "Foundation", "Sluice"].contains(member.baseType.trimmedDescription)
        default: return false
        }
    }

    /// Whether the source names a link, or a collection or an optional of links.
    var namesLink: Bool {
        switch self.as(TypeSyntaxEnum.self) {
        case .optionalType(let optional): return optional.wrappedType.namesLink
        case .arrayType(let array): return array.element.namesLink
        case .dictionaryType(let dictionary): return dictionary.value.namesLink
        case .identifierType(let identifier):
            if ["Link", "Links"].contains(identifier.name.text) { return true }
            return identifier.genericArgumentClause?.arguments.contains { argument in
                if case .type(let type) = argument.argument { type.namesLink } else { false }
            } ?? false
        case .memberType(let member):
            return ["Sluice.Link", "Sluice.Links"].contains(
                "\(member.baseType.trimmedDescription).\(member.name.text)")
        default: return false
        }
    }

    private static let storedTypes: Set<String> = [
        "Bool", "Int", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "Float", "Double", "Decimal",
        "String",
        "Data", "Date", "UUID", "ObjectID",
    ]

    var isCollection: Bool {
        if self.is(ArrayTypeSyntax.self) || self.is(DictionaryTypeSyntax.self) { return true }
        return ["Array", "Set", "Dictionary", "Links"].contains(self.as(IdentifierTypeSyntax.self)?.name.text ?? "")
    }
}

extension VariableDeclSyntax {
    var isStatic: Bool {
        modifiers.contains { [.keyword(.static), .keyword(.class)].contains($0.name.tokenKind) }
    }

    /// Whether every binding has storage: observers keep it, accessors replace it.
    var isStored: Bool {
        bindings.allSatisfy { binding in
            guard let accessors = binding.accessorBlock?.accessors else { return true }
            guard case .accessors(let list) = accessors else { return false }
            return list.allSatisfy { [.keyword(.willSet), .keyword(.didSet)].contains($0.accessorSpecifier.tokenKind) }
        }
    }

    func attribute(named name: String) -> AttributeSyntax? {
        for case .attribute(let attribute) in attributes
        where [name, "Sluice." + name].contains(attribute.attributeName.trimmedDescription) {
            return attribute
        }
        return nil
    }
}

extension AttributeSyntax {
    var firstArgument: ExprSyntax? {
        guard case .argumentList(let list) = arguments else { return nil }
        return list.first?.expression
    }
}
