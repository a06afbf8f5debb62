internal import Sluice
internal import SluiceExchange

/// `--expand=a,b.c`: the links for which the targets are printed instead of their keys.
struct Expansion: Hashable, Sendable {
    private(set) var children: [String: Expansion] = [:]

    /// The expansion of nothing.
    static let none = Expansion()

    private init() {}

    /// - Parameters:
    ///   - paths: the paths, separated by commas.
    ///   - className: the class in which the paths begin.
    /// - Throws: ``CommandError`` when a path contains a name that is no property, or a property that is no link.
    init(_ paths: String, className: String, schema: Schema) throws(CommandError) {
        for path in paths.split(separator: ",", omittingEmptySubsequences: false) {
            try add(
                path.split(separator: ".", omittingEmptySubsequences: false)[...], className: className, schema: schema)
        }
    }

    /// The paths of a comma-separated list that a query excludes, wholly or from some step on.
    static func paths(_ paths: String, excludedBy query: QuerySyntax) -> [String] {
        let excluded = query.clauses.flatMap { clause -> [[Substring]] in
            guard case .exclude(let paths, _) = clause else { return [] }
            return paths.map { path in
                path.components.map { if case .property(let name) = $0.kind { Substring(name) } else { "" } }
            }
        }
        return paths.split(separator: ",").filter { path in
            let names = path.split(separator: ".")
            return excluded.contains { !$0.isEmpty && names.starts(with: $0) }
        }.map(String.init)
    }

    private mutating func add(
        _ path: ArraySlice<Substring>, className: String, schema: Schema
    ) throws(CommandError) {
        guard let name = path.first.map(String.init), let declared = schema.classSchema(named: className) else {
            return
        }
        guard let property = declared.property(named: name) else {
            let names = declared.properties.map(\.name)
            let hint =
                Suggestion.closest(to: name, among: names).map { "did you mean '\($0)'?" }
                ?? "it has \(names.joined(separator: ", "))"
            throw .failure("--expand: \(className) has no property '\(name)'; \(hint)")
        }
        guard let target = property.type.targetClass else {
            throw .usage("--expand: \(className).\(name) is \(property.type), not a link")
        }
        var child = children[name] ?? Expansion()
        try child.add(path.dropFirst(), className: target, schema: schema)
        children[name] = child
    }
}
