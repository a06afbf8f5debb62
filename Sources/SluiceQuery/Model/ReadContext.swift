package import SluiceModel
internal import Synchronization

/// What a reader may read: for some classes, a condition that objects must meet.
///
/// For the reader, the other objects of these classes are absent: they are no results, no path and no link leads to
/// them, and no count has them. A condition itself reads everything.
///
/// A context of conditions as text leaves the other classes readable whole. A context of rules denies them.
package final class ReadContext: Sendable {
    /// Everything is readable.
    package static let everything = ReadContext()

    /// Where the conditions come from, which decides what is readable of a class that has none.
    private enum Ground {
        /// Text, in the query language and sorted, that was checked against a schema. Other classes are readable whole.
        case texts([String], Schema)
        /// Rules; nothing is readable of other classes.
        case rules(ReadDenial)
    }

    /// The text of a form, which many contexts share.
    private final class FormKey: Sendable {
        let text: String
        init(_ text: String) { self.text = text }
    }

    // A server may hold two contexts for each of a hundred thousand readers, so what they share is in few words.

    /// The conditions by class; that of a class that is readable whole may be here too.
    private let rules: ReadRules
    private let ground: Ground
    /// What evaluation has made of the conditions, by class; see ``prepared(ofClass:_:)``.
    private let preparations = Mutex<[Int: any Sendable]>([:])
    /// What is hidden of the objects that are readable, by class.
    private let veils: [Int: ReadVeil]
    /// The links that show only where their targets may be read, by the class that has them.
    private let veiledLinks: [Int: [VeiledLink]]
    /// Equal for equal contexts, whatever the schema has of their classes, and zero for ``everything``.
    package let id: ObjectID
    private let knownFormKey: Mutex<FormKey?>

    private init() {
        rules = ReadRules([:])
        ground = .texts([], Schema())
        veils = [:]
        veiledLinks = [:]
        id = ObjectID(high: 0, low: 0)
        knownFormKey = Mutex(FormKey(""))
    }

    /// - Parameters:
    ///   - conditions: for each class that is not readable whole, `Class WHERE predicate`: its results are what is
    ///     readable of the class. No two are of one class. A condition on a class that the schema lacks waits until
    ///     it has it; see ``rebound(to:)``. A condition that names what the schema lacks waits too, and until then
    ///     nothing of its class is readable.
    ///   - schema: the schema to check the conditions against.
    /// - Throws: ``QueryError`` when a condition is wrong, or has clauses.
    package init(_ conditions: [String], schema: Schema) throws(QueryError) {
        var rules: [Int: Query] = [:]
        for text in conditions {
            let query: Query
            do { query = try .parse(text, schema: schema) } catch {
                guard let closed = try Self.closed(text, schema, error) else { continue }
                rules[closed.classIndex] = closed
                continue
            }
            guard query.isCondition, rules[query.classIndex] == nil else {
                throw QueryError(
                    .syntax,
                    "what is readable of a class is one condition without clauses, such as "
                        + "'\(query.className) WHERE owner == $0'; '\(text)' is something else", at: nil)
            }
            guard !query.readsTime else {
                throw QueryError(
                    .syntax, "what is readable of a class does not depend on the time; '\(text)' has $now", at: nil)
            }
            rules[query.classIndex] = query
        }
        let texts = conditions.sorted()
        self.rules = ReadRules(rules)
        ground = .texts(texts, schema)
        veils = [:]
        veiledLinks = [:]
        id =
            texts.isEmpty
            ? ObjectID(high: 0, low: 0) : SHA256.truncatedID(of: Array(texts.joined(separator: "\u{1}").utf8))
        knownFormKey = Mutex(FormKey(rules.values.map(\.form.key).sorted().joined(separator: "\u{2}")))
    }

    /// A context of rules: what no condition names is denied.
    ///
    /// - Parameters:
    ///   - conditions: what is readable of each class: conditions without clauses, checked against the schema.
    ///   - veils: what is hidden of the readable objects, by class.
    ///   - denial: what stands for the other classes. Contexts of one schema share it.
    ///   - id: the context's id; nil makes one of what is readable.
    package init(
        rules conditions: [Query], veils: [Int: ReadVeil] = [:], denying denial: ReadDenial, id: ObjectID? = nil
    ) {
        precondition(conditions.allSatisfy(\.isCondition), "a rule is a condition without clauses")
        let rules = Dictionary(conditions.map { ($0.classIndex, $0) }) { $1 }
        self.rules = ReadRules(rules)
        ground = .rules(denial)
        // What is denied is so with and without a condition that says it.
        let texts = Self.texts(of: rules.values)
        self.veils = veils.filter { !$0.value.isEmpty }
        veiledLinks = VeiledLink.all(in: denial.schema) { classIndex in
            guard veils[classIndex]?.hidesIdentity ?? false else { return false }
            return !(rules[classIndex]?.form.isOfWholeClass ?? false)
        }
        let veilTexts = Self.texts(of: self.veils, denial.schema)
        self.id =
            id ?? SHA256.truncatedID(of: Array((["rules"] + texts + veilTexts).joined(separator: "\u{1}").utf8))
        knownFormKey = Mutex(nil)
    }

    /// A context of rules whose conditions are made when they are first asked for: most readers never touch most
    /// classes.
    ///
    /// - Parameters:
    ///   - maker: makes the conditions.
    ///   - id: equal for equal contexts only.
    ///   - veils: what is hidden of the readable objects, by class.
    ///   - denial: what stands for the other classes.
    package init(
        ruledBy maker: some ReadConditionMaker, id: ObjectID, veils: [Int: ReadVeil], denying denial: ReadDenial
    ) {
        let rules = ReadRules.later(maker)
        self.rules = rules
        ground = .rules(denial)
        self.veils = veils.filter { !$0.value.isEmpty }
        veiledLinks = VeiledLink.all(in: denial.schema) { classIndex in
            guard veils[classIndex]?.hidesIdentity ?? false else { return false }
            return !(rules[classIndex]?.form.isOfWholeClass ?? false)
        }
        self.id = id
        knownFormKey = Mutex(nil)
    }

    /// Equal for contexts whose conditions differ only in constants.
    package var formKey: String { sharedFormKey.text }

    private var sharedFormKey: FormKey {
        knownFormKey.withLock { known in
            if let known { return known }
            let forms = rules.all.filter { !$0.isOfNothing }.map(\.form.key).sorted()
            let made = FormKey((["rules"] + forms + Self.texts(of: veils, schema)).joined(separator: "\u{2}"))
            known = made
            return made
        }
    }

    /// The schema that the conditions were checked against.
    package var schema: Schema {
        switch ground {
        case .texts(_, let schema): schema
        case .rules(let denial): denial.schema
        }
    }

    /// What stands for the classes that ``rules`` does not name; nil if these are readable whole.
    private var denial: ReadDenial? { if case .rules(let denial) = ground { denial } else { nil } }

    private static func texts(of veils: [Int: ReadVeil], _ schema: Schema) -> [String] {
        veils.sorted { $0.key < $1.key }.map { $0.value.text(of: schema[$0.key]) }
    }

    /// What rules allow, in the query language, sorted.
    private static func texts(of rules: some Sequence<Query>) -> [String] {
        rules.filter { !$0.isOfNothing }.map(\.canonicalText).sorted()
    }

    /// What stands for a condition that does not fit the schema: nothing is readable. A schema grows class by class and
    /// property by property, and a condition comes before what it names.
    ///
    /// - Returns: nil if the schema lacks the class itself.
    /// - Throws: the error, when no growth of the schema mends the condition.
    private static func closed(_ text: String, _ schema: Schema, _ error: QueryError) throws(QueryError) -> Query? {
        switch error.code {
        case .unknownClass, .unknownProperty, .typeMismatch: break
        default: throw error
        }
        let className = String(text.prefix { !$0.isWhitespace })
        guard schema.index(of: className) != nil else { return nil }
        return try .parse("\(className) WHERE FALSEPREDICATE", schema: schema)
    }

    private init(_ other: ReadContext, formsOf sharer: ReadContext) {
        rules = .made(
            other.rules.all.map { rule in
                guard let form = sharer.rules[rule.classIndex]?.form, form.key == rule.form.key else { return rule }
                return rule.sharing(form)
            })
        ground = other.ground
        veils = other.veils
        veiledLinks = other.veiledLinks
        id = other.id
        knownFormKey = Mutex(sharer.sharedFormKey)
    }

    /// The same context with the forms of another whose conditions differ only in constants: each of many readers then
    /// takes little memory.
    package func sharing(_ other: ReadContext) -> ReadContext {
        if self === other || isEverything || !rules.hasSameClasses(as: other.rules) { return self }
        if !rules.isBoundLater, rules.all.allSatisfy({ $0.form === other.rules[$0.classIndex]?.form }) {
            let key = other.sharedFormKey
            if formKey == key.text { knownFormKey.withLock { $0 = key } }
            return self
        }
        return formKey == other.formKey ? ReadContext(self, formsOf: other) : self
    }

    package var isEverything: Bool { if case .texts(let texts, _) = ground { texts.isEmpty } else { false } }

    /// The classes that are not readable whole.
    package var classes: [Int] {
        let named = denial == nil ? Array(rules.classes) : Array(schema.classes.indices)
        return named.filter { condition(ofClass: $0) != nil }.sorted()
    }

    /// What is readable of a class; nil if all of it is.
    package func condition(ofClass classIndex: Int) -> Query? {
        guard let rule = rules[classIndex] else { return denial?.condition(ofClass: classIndex) }
        return denial != nil && rule.form.isOfWholeClass ? nil : rule
    }

    /// What is hidden of a class's readable objects.
    package func veil(ofClass classIndex: Int) -> ReadVeil { veils[classIndex] ?? ReadVeil() }

    /// The properties that are hidden, by class.
    package var hiddenProperties: [Int: PropertySet] {
        veils.isEmpty ? [:] : veils.mapValues(\.properties).filter { !$0.value.isEmpty }
    }

    /// Whether links to some objects that may not be read are hidden.
    package var veilsLinks: Bool { !veiledLinks.isEmpty }

    /// Whether the same links are hidden where their targets may not be read.
    package func veilsSameLinks(as other: ReadContext) -> Bool { veiledLinks == other.veiledLinks }

    /// The links of a class that show only where their targets may be read.
    package func veiledLinks(ofClass classIndex: Int) -> [VeiledLink] { veiledLinks[classIndex] ?? [] }

    /// What a context of rules says of some classes alone; the others are denied. Readers whose rules differ only
    /// elsewhere get equal contexts, and so share the views that read nothing else.
    ///
    /// - Parameter classes: all classes that a reader can reach with the query that the context is for: that of the
    ///   results, those that paths lead to, and those that links are followed to.
    /// - Returns: this context itself if it is of conditions as text.
    package func narrowed(to classes: Set<Int>) -> ReadContext {
        guard let denial, rules.isBoundLater || !rules.classes.isSubset(of: classes) else { return self }
        return ReadContext(
            rules: rules.classes.intersection(classes).compactMap { rules[$0] },
            veils: veils.filter { classes.contains($0.key) }, denying: denial)
    }

    /// Whether this is what ``narrowed(to:)`` makes of another context.
    ///
    /// - Parameter classes: as there.
    package func isNarrowed(from other: ReadContext, to classes: Set<Int>) -> Bool {
        let conditions = rules.all
        return conditions.count == classes.count { other.rules[$0] != nil }
            && conditions.allSatisfy { classes.contains($0.classIndex) }
            && veils.count == classes.count { other.veils[$0] != nil } && veils.keys.allSatisfy(classes.contains)
    }

    /// The same context with another condition on one class.
    ///
    /// - Returns: nil unless this is a context of rules that was narrowed to what a query can reach.
    package func ruling(_ condition: Query) -> ReadContext? {
        guard let denial, !rules.isBoundLater else { return nil }
        let others = rules.all.filter { $0.classIndex != condition.classIndex }
        return ReadContext(rules: others + [condition], veils: veils, denying: denial)
    }

    /// The same context without anything of one class.
    ///
    /// - Returns: as ``ruling(_:)``.
    package func closing(_ classIndex: Int) -> ReadContext? {
        denial?.condition(ofClass: classIndex).flatMap(ruling)
    }

    /// What was made of the condition on a class, kept for the next caller.
    ///
    /// - Parameter make: called once for a class, with its condition.
    /// - Returns: nil if all of the class is readable.
    func prepared<Prepared: Sendable>(ofClass classIndex: Int, _ make: (Query) -> Prepared) -> Prepared? {
        guard let condition = condition(ofClass: classIndex) else { return nil }
        return preparations.withLock { known in
            if let prepared = known[classIndex] as? Prepared { return prepared }
            let prepared = make(condition)
            known[classIndex] = prepared
            return prepared
        }
    }

    /// The same context, checked against another schema. Of a context of rules, classes that are new are denied, and
    /// what the schema lacks now is closed.
    ///
    /// - Throws: ``QueryError`` when a condition does not fit that schema.
    package func rebound(to schema: Schema) throws(QueryError) -> ReadContext {
        if case .texts(let texts, _) = ground { return texts.isEmpty ? self : try ReadContext(texts, schema: schema) }
        guard schema != self.schema else { return self }
        var conditions: [Query] = []
        for rule in rules.all {
            let text = rule.canonicalText
            guard schema.index(of: rule.className) == rule.classIndex,
                let syntax = try? QuerySyntax.parse(text, isLimited: false),
                let query = try? Query(syntax, schema: schema, isLimited: false)
            else { continue }
            conditions.append(query)
        }
        return ReadContext(
            rules: conditions, veils: veils, denying: ReadDenial(schema), id: rules.isBoundLater ? id : nil)
    }
}

extension ReadContext: CustomStringConvertible {
    /// The conditions in the query language.
    package var description: String {
        let texts =
            switch ground {
            case .texts(let texts, _): texts
            case .rules: Self.texts(of: rules.all)
            }
        return isEverything ? "everything" : texts.isEmpty ? "nothing" : texts.joined(separator: "; ")
    }
}
