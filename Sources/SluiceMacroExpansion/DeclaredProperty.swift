internal import SwiftDiagnostics
internal import SwiftParser
internal import SwiftSyntax
internal import SwiftSyntaxBuilder

/// One stored property of a model, as its source declares it.
struct DeclaredProperty {
    let syntax: Syntax
    /// The property's Swift name, with backticks where the source has them.
    let name: String
    /// The property's name in schemas and queries.
    let storedName: String
    /// What the property was called before, the last first.
    let formerNames: [PropertyNames.Name]
    /// The declared or inferred type, as source.
    let type: String
    let isOptional: Bool
    /// The type in it of which only the type checker can tell whether it can be stored; nil if the macro knows all of
    /// them.
    let namedType: NamedType?
    /// Whether the source names a link type, so that the property leads to another model.
    let isLink: Bool
    let access: AccessLevel
    /// The initial value, as source.
    let initialValue: String?
    let primaryKeyMark: AttributeSyntax?
    let isIndexed: Bool
    let isIgnored: Bool

    var isPrimaryKey: Bool { primaryKeyMark != nil }

    /// The stored instance properties of a declaration; none for computed and static ones.
    static func all(in variable: VariableDeclSyntax, reportingTo reporter: inout Reporter) -> [DeclaredProperty] {
        guard !variable.isStatic, variable.isStored, variable.attribute(named: "Inverse") == nil else { return [] }
        if let lazy = variable.modifiers.first(where: { $0.name.tokenKind == .keyword(.lazy) }) {
            reporter.report(
                .error(
                    "lazyProperty", "a model's property cannot be lazy: a value is read whole from its row", at: lazy))
            return []
        }
        var found: [DeclaredProperty] = []
        for (index, binding) in variable.bindings.enumerated() {
            let following = variable.bindings.dropFirst(index).lazy.compactMap { $0.typeAnnotation?.type }.first
            let type = binding.initializer == nil ? following : binding.typeAnnotation?.type
            if let property = DeclaredProperty(binding, of: variable, declaredType: type, reportingTo: &reporter) {
                found.append(property)
            }
        }
        return found
    }

    private init?(
        _ binding: PatternBindingSyntax, of variable: VariableDeclSyntax, declaredType: TypeSyntax?,
        reportingTo reporter: inout Reporter
    ) {
        guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else {
            reporter.report(
                .error(
                    "tuplePattern", "a model's properties are declared one by one, not as a tuple", at: binding.pattern)
            )
            return nil
        }
        syntax = Syntax(pattern)
        name = pattern.identifier.trimmedDescription
        let plainName = pattern.identifier.identifier?.name ?? name
        initialValue = binding.initializer?.value.trimmedDescription
        access = AccessLevel(variable.modifiers)
        primaryKeyMark = variable.attribute(named: "PrimaryKey")
        isIndexed = variable.attribute(named: "Indexed") != nil
        isIgnored = variable.attribute(named: "Ignored") != nil

        let names = PropertyNames(variable.attribute(named: "Property"), reportingTo: &reporter)
        storedName = names.name?.text ?? plainName
        formerNames = names.formerNames
        if !isIgnored { NameRule.check(storedName, of: .property, at: names.name?.node ?? Syntax(pattern), &reporter) }

        isOptional = declaredType?.isOptional ?? false
        isLink = declaredType?.namesLink ?? false
        let inferred = binding.initializer.flatMap { inferredType(of: $0.value) }
        namedType = (declaredType ?? inferred.map { TypeSyntax("\(raw: $0)") }).flatMap(NamedType.init)
        if isIgnored {
            type = declaredType?.trimmedDescription ?? ""
            checkIgnored(variable, reportingTo: &reporter)
            return
        }
        guard let type = declaredType?.trimmedDescription ?? inferred else {
            reporter.report(Self.missingType(binding, name: name))
            return nil
        }
        self.type = type
        if let declaredType, let problem = unsupported(declaredType) {
            reporter.report(.error("unsupportedType", "'\(name)' cannot be stored: \(problem)", at: declaredType))
        }
        checkLet(variable, binding, reportingTo: &reporter)
        checkPrimaryKey(declaredType, reportingTo: &reporter)
    }

    private func checkIgnored(_ variable: VariableDeclSyntax, reportingTo reporter: inout Reporter) {
        if let mark = primaryKeyMark {
            reporter.report(.error("ignoredKey", "the primary key cannot be @Ignored", at: mark))
        }
        if initialValue == nil, !(isOptional && variable.bindingSpecifier.tokenKind == .keyword(.var)) {
            reporter.report(
                .error(
                    "ignoredWithoutValue",
                    "'\(name)' is @Ignored and needs an initial value: nothing in the store supplies one", at: syntax))
        }
    }

    private func checkLet(
        _ variable: VariableDeclSyntax, _ binding: PatternBindingSyntax, reportingTo reporter: inout Reporter
    ) {
        guard variable.bindingSpecifier.tokenKind == .keyword(.let), let initializer = binding.initializer else {
            return
        }
        let keyword = variable.bindingSpecifier
        reporter.report(
            .error(
                "constantWithValue",
                "'\(name)' is constant and always \(initializer.value.trimmedDescription): it cannot be read from a row; "
                    + "use 'var', or make it static", at: keyword,
                fixIts: [.replace("use 'var'", keyword, with: keyword.with(\.tokenKind, .keyword(.var)))]))
    }

    private func checkPrimaryKey(_ declaredType: TypeSyntax?, reportingTo reporter: inout Reporter) {
        guard isPrimaryKey else { return }
        if let declaredType, declaredType.isOptional {
            var fixIts: [FixIt] = []
            if let optional = declaredType.as(OptionalTypeSyntax.self) {
                fixIts = [.replace("remove '?'", optional, with: optional.wrappedType)]
            }
            reporter.report(
                .error("optionalPrimaryKey", "a primary key cannot be optional", at: declaredType, fixIts: fixIts))
        } else if ["Bool", "Double", "Float", "Data", "Date", "Decimal"].contains(type) {
            reporter.report(
                .error(
                    "primaryKeyType", "a primary key is an integer, a String or a UUID, and '\(name)' is \(type)",
                    at: declaredType.map { Syntax($0) } ?? syntax))
        }
    }

    private static func missingType(_ binding: PatternBindingSyntax, name: String) -> Diagnostic {
        let annotated = binding.with(
            \.typeAnnotation,
            TypeAnnotationSyntax(
                colon: .colonToken(trailingTrivia: .space),
                type: IdentifierTypeSyntax(name: .identifier("<#Type#>", trailingTrivia: .space)))
        ).with(\.pattern, binding.pattern.trimmed)
        return .error(
            "missingType", "'\(name)' needs a type annotation: a macro sees the source, not the type of an expression",
            at: binding.pattern, fixIts: [.replace("add a type annotation", binding, with: annotated)])
    }
}
