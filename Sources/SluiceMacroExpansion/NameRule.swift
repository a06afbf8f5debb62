internal import SwiftParser
internal import SwiftSyntax

/// The names that a schema accepts, so that the compiler refuses the others at their line.
///
/// The rule itself is that of `Schema` and `ClassSchema` in SluiceModel. A macro links nothing of the library, so it is
/// here once more; `NameRuleTests` compares the two.
enum NameRule {
    /// The most bytes of a name.
    static let byteCountMax = 63
    /// The most properties of a class.
    static let propertyCountMax = 500

    /// Whether a class or property may have the name.
    static func allows(_ name: String) -> Bool {
        (1...byteCountMax).contains(name.utf8.count)
            && name.utf8.enumerated().allSatisfy { position, byte in
                switch byte {
                case 0x41...0x5A, 0x61...0x7A, 0x5F: true
                case 0x30...0x39: position > 0
                default: false
                }
            }
    }

    /// What names are compared by: a schema does not have two that differ only in case.
    static func folded(_ name: String) -> String { name.lowercased() }

    /// What a name is of.
    enum Kind: String {
        case `class`, property
        /// A former name, which has no other remedy than to be written as it was.
        case former = "property before"
        /// An inverse relationship, whose name is that of the Swift property.
        case inverse = "property of queries"

        var remedy: String {
            switch self {
            case .class: "; @Model(\"name\") gives the class another name"
            case .property: "; @Property(\"name\") gives the property another name"
            case .former, .inverse: ""
            }
        }
    }

    /// Reports a name that schemas refuse.
    static func check(_ name: String, of kind: Kind, at node: some SyntaxProtocol, _ reporter: inout Reporter) {
        guard !allows(name) else { return }
        reporter.report(
            .error(
                "invalidName",
                "'\(name)' cannot name a \(kind.rawValue): use 1 to \(byteCountMax) ASCII letters, digits and '_', "
                    + "not starting with a digit\(kind.remedy)", at: node))
    }
}

extension ModelDeclaration {
    /// Reports the names that the schema of the whole class refuses: two of one spelling, and too many.
    func checkNames(reportingTo reporter: inout Reporter) {
        let stored = properties.filter { !$0.isIgnored }
        var seen: [String: String] = [:]
        func add(_ name: String, _ node: Syntax) {
            guard let other = seen.updateValue(name, forKey: NameRule.folded(name)) else { return }
            let problem =
                other == name
                ? "\(className) has two properties named '\(name)'"
                : "\(className) has '\(other)' and '\(name)', which differ only in case; rename one"
            reporter.report(.error("duplicateName", problem, at: node))
        }
        for property in stored { add(property.storedName, property.syntax) }
        checkFormerNames(of: stored, reportingTo: &reporter)
        for inverse in inverses {
            NameRule.check(inverse.queryName, of: .inverse, at: inverse.syntax, &reporter)
            add(inverse.queryName, inverse.syntax)
        }
        if let excess = stored.dropFirst(NameRule.propertyCountMax).first {
            reporter.report(
                .error(
                    "tooManyProperties",
                    "\(className) has \(stored.count) properties; the limit is \(NameRule.propertyCountMax)",
                    at: excess.syntax))
        }
    }

    /// Reports former names that some property has: one property cannot become two, nor two one.
    private func checkFormerNames(of stored: [DeclaredProperty], reportingTo reporter: inout Reporter) {
        var owners: [String: DeclaredProperty] = [:]
        for property in stored { owners[property.storedName] = property }
        for property in stored {
            for former in property.formerNames {
                guard let owner = owners.updateValue(property, forKey: former.text) else { continue }
                let problem =
                    owner.name == property.name
                    ? "'\(former.text)' is a name of '\(property.name)' already; remove it"
                    : "'\(former.text)' names '\(owner.name)' too; a former name belongs to one property"
                reporter.report(.error("duplicateName", problem, at: former.node))
            }
        }
    }

    /// Reports members that have the name of one that the macro adds, where the compiler would speak of generated code.
    static func checkMembers(of structure: StructDeclSyntax, reportingTo reporter: inout Reporter) {
        for variable in structure.memberBlock.members.compactMap({ $0.decl.as(VariableDeclSyntax.self) }) {
            let added: Set =
                variable.isStatic ? ["className", "modelDefinition"] : ["objectMetadata", "keyedMetadata"]
            for binding in variable.bindings {
                guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self),
                    let name = pattern.identifier.identifier?.name, added.contains(name)
                else { continue }
                let remedy =
                    variable.isStatic
                    ? "remove it; @Model(\"name\") names the class"
                    : "rename it; @Property(\"\(name)\") keeps the name in schemas and queries"
                reporter.report(
                    .error("reservedName", "@Model adds a member '\(name)' itself: \(remedy)", at: pattern))
            }
        }
    }
}
