internal import SwiftSyntax
internal import SwiftSyntaxBuilder
internal import SwiftSyntaxMacros

/// The source that `@Model` adds to a struct.
///
/// All of it is nonisolated, so that a model is one in a module whose code runs on the main actor by default, too:
/// stores read and write values on their own queues.
struct ModelExpansion {
    private let model: ModelDeclaration
    private let stored: [DeclaredProperty]

    private let location: (Syntax) -> AbstractSourceLocation?

    /// - Parameter location: where a piece of the user's source stands.
    init(_ model: ModelDeclaration, location: @escaping (Syntax) -> AbstractSourceLocation?) {
        self.model = model
        self.stored = model.properties.filter { !$0.isIgnored }
        self.location = location
    }

    var members: [DeclSyntax] {
        [className] + syncing + [table] + metadata + (model.hasOwnInitializer ? [] : [memberwiseInitializer])
            + [decodingInitializer, encode]
    }

    /// A line that the compiler may find fault with because of the property's type: then it names the property's line.
    private func line(_ source: String, of property: DeclaredProperty) -> String {
        guard property.namedType != nil, let location = location(property.syntax) else { return source }
        return "#sourceLocation(file: \(location.file), line: \(location.line))\n\(source)\n#sourceLocation()"
    }

    private var className: DeclSyntax {
        "nonisolated \(raw: model.access.prefix)static var className: Swift.String { \(literal: model.className) }"
    }

    private var syncing: [DeclSyntax] {
        model.isLocal ? ["\(raw: model.access.prefix)typealias Syncing = Sluice.LocalClass"] : []
    }

    /// What the compiler can tell of a link to a class on the other side.
    private func sideCheck(of property: DeclaredProperty) -> String {
        guard property.isLink, let location = location(property.syntax) else { return "" }
        return "\n#sourceLocation(file: \(location.file), line: \(location.line))\n"
            + "model.checkSide(\\.\(property.name))\n#sourceLocation()"
    }

    private var table: DeclSyntax {
        let lines = stored.map { property in
            let arguments = "\(StringLiteralExprSyntax(content: property.storedName)), \\.\(property.name)"
            let names = property.formerNames.map { StringLiteralExprSyntax(content: $0.text).description }
            var was = names.isEmpty ? "" : ", was: [\(names.joined(separator: ", "))]"
            if property.isPrimaryKey { return line("model.primaryKey(\(arguments)\(was))", of: property) }
            if property.isIndexed { was = ", isIndexed: true" + was }
            let value = property.initialValue.map { ", default: \($0)" } ?? ""
            guard let named = property.namedType else {
                return "model.property(\(arguments)\(value)\(was))" + sideCheck(of: property)
            }
            return checked(property, named, value, arguments: was) + sideCheck(of: property)
        }
        let inverses = model.inverses.map { inverse in
            "model.inverse(\(StringLiteralExprSyntax(content: inverse.queryName)), \\.\(inverse.name), through: \(inverse.path))"
        }
        return """
            nonisolated \(raw: model.access.prefix)static let modelDefinition: Sluice.ModelDefinition<\(raw: model.typeName)> = Sluice.ModelDefinition(\(raw: model.typeName).self) { model in
            \(raw: (lines + inverses).joined(separator: "\n"))
            }
            """
    }

    /// Declares a property of a type that only the compiler knows. What it says of one that cannot be stored names the
    /// property, and what would be right.
    private func checked(
        _ property: DeclaredProperty, _ named: NamedType, _ value: String, arguments: String
    ) -> String {
        let isLinked =
            "'\(property.name)' would hold objects of a model, and objects are linked: declare it as \(named.linkType)"
        let isUnknown =
            "'\(property.name)' is of a type that cannot be stored; an enum with raw values can when it conforms to "
            + "PropertyElement, and @Ignored keeps a property out of the store"
        func unavailable(_ generic: String, _ type: String, _ message: String) -> String {
            "@available(*, unavailable, message: \(StringLiteralExprSyntax(content: message)))\n"
                + "func declareProperty<\(generic)>(_: any KeyPath<\(model.typeName), \(type)> & Sendable, default: \(type)? = nil) {}\n"
        }
        return """
            do {
            func declareProperty<SluiceValue: Sluice.PropertyValue>(_ keyPath: any KeyPath<\(model.typeName), SluiceValue> & Sendable, default value: SluiceValue? = nil) {
            model.property(\(StringLiteralExprSyntax(content: property.storedName)), keyPath, default: value\(arguments))
            }
            \(unavailable("SluiceHeld: Sluice.Model", named.pattern, isLinked))\
            @_disfavoredOverload
            \(unavailable("SluiceValue", "SluiceValue", isUnknown))\
            \(line("declareProperty(\\.\(property.name)\(value))", of: property))
            }
            """
    }

    /// A keyed model's metadata is stored as a type that counts in no comparison and no encoding.
    private var metadata: [DeclSyntax] {
        let access = model.access.prefix
        guard model.isKeyed else {
            return ["nonisolated \(raw: access)var objectMetadata: Sluice.ObjectMetadata = Sluice.ObjectMetadata()"]
        }
        return [
            """
            nonisolated \(raw: access)var objectMetadata: Sluice.ObjectMetadata {
            get { keyedMetadata.metadata }
            set { keyedMetadata.metadata = newValue }
            }
            """,
            "nonisolated private var keyedMetadata: Sluice.KeyedMetadata = Sluice.KeyedMetadata()",
        ]
    }

    /// Takes every property that is as visible as the struct; those that are less keep their initial values. One of
    /// them that has none is taken, and narrows the initialiser.
    private var memberwiseInitializer: DeclSyntax {
        let taken = stored.filter { $0.access >= model.access || ($0.initialValue == nil && !$0.isOptional) }
        let access = taken.map(\.access).reduce(model.access, min)
        let parameters = taken.map { property in
            let value = property.initialValue ?? (property.isOptional ? "nil" : nil)
            return "\(property.name): \(property.type)" + (value.map { " = \($0)" } ?? "")
        }
        let assignments = stored.compactMap { property in
            if taken.contains(where: { $0.name == property.name }) { return "self.\(property.name) = \(property.name)" }
            return property.initialValue == nil ? "self.\(property.name) = nil" : nil
        }
        return """
            nonisolated \(raw: access.prefix)init(\(raw: parameters.joined(separator: ", "))) {
            \(raw: assignments.joined(separator: "\n"))
            }
            """
    }

    private var decodingInitializer: DeclSyntax {
        let assignments = stored.enumerated().map { column, property in
            "self.\(property.name) = try row.value(\(property.namedType == nil ? "" : "named: ")\(column))"
        }
        return """
            nonisolated \(raw: model.access.prefix)init(from row: borrowing Sluice.RowDecoder) throws {
            \(raw: (assignments + ["self.objectMetadata = row.metadata"]).joined(separator: "\n"))
            }
            """
    }

    private var encode: DeclSyntax {
        let lines = stored.enumerated().map { column, property in
            "try row.set(\(property.namedType == nil ? "" : "named: ")\(column), self.\(property.name))"
        }
        return """
            nonisolated \(raw: model.access.prefix)func encode(to row: inout Sluice.RowEncoder) throws {
            \(raw: lines.joined(separator: "\n"))
            }
            """
    }
}
