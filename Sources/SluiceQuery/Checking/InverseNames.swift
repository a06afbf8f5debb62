/// The names that models declare for inverse relationships, by class. They stand for backlinks in queries.
///
/// Only a written query has them; its canonical form has `@links`.
package struct InverseNames: Sendable {
    private var names: [String: [String: PathSyntax.Component.Kind]] = [:]

    package init() {}

    /// Adds a name for `@links.Class.property` on objects of another class.
    ///
    /// - Parameters:
    ///   - name: the name.
    ///   - className: the class whose objects have it.
    ///   - source: the class that links, and the property that has the links.
    package mutating func add(_ name: String, on className: String, source: (className: String, property: String)) {
        names[className, default: [:]][name] = .backlink(className: source.className, property: source.property)
    }

    /// What a name stands for on objects of a class; nil for a name of something else.
    func kind(of name: String, on className: String) -> PathSyntax.Component.Kind? { names[className]?[name] }

    /// The names on objects of a class.
    func names(on className: String) -> [String] { names[className].map { $0.keys.sorted() } ?? [] }
}
