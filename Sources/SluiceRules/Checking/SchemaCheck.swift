package import SluiceModel
internal import SluiceQuery

extension RulesFile {
    /// Everything in the file that does not fit a schema, in the order of the text: rules that would silently allow
    /// nothing. Nothing is wrong if the list is empty.
    package func problems(with schema: Schema) -> [RulesProblem] {
        RulesError.of(SchemaCheck.problems(of: document, schema: schema), in: document.places).problems
    }
}

/// Checks a rules file against a schema: names, and types of comparisons with every value that a variable may have.
struct SchemaCheck {
    private let document: RulesDocument
    private let schema: Schema
    private let pool: SamplePool
    private var problems: [(byte: Int, place: String, message: String)] = []

    private init(_ document: RulesDocument, schema: Schema) {
        self.document = document
        self.schema = schema
        pool = SamplePool(document, schema: schema)
    }

    static func problems(
        of document: RulesDocument, schema: Schema
    ) -> [(byte: Int, place: String, message: String)] {
        var check = SchemaCheck(document, schema: schema)
        for (_, set) in document.sets { check.check(set.syntax, at: set.place) }
        for (_, condition) in document.roles { check.check(condition) }
        for condition in document.database.values { check.check(condition) }
        if let place = document.databaseLists,
            let message = PermissionList.problem(with: .database, schema: schema)
        {
            check.report(place, message)
        }
        for (name, rules) in document.classes { check.check(rules, of: name) }
        return check.problems
    }

    private mutating func report(_ error: QueryError, _ place: FilePlace) {
        problems.append(
            (document.places.byte(error.position ?? 0, ofStringAt: place.start), place.path, error.message))
    }

    private mutating func report(_ place: FilePlace, _ message: String) {
        problems.append((place.start, place.path, message))
    }

    // MARK: Classes

    private mutating func check(_ rules: WrittenClass, of name: String) {
        guard let declared = schema.classSchema(named: name) else {
            let nearest = NearestName.find(name, among: schema.classNames)
            return report(
                rules.place,
                "there is no class '\(name.prefix(64))'" + (nearest.map { "; did you mean '\($0)'?" } ?? ""))
        }
        if let lists = rules.lists {
            check(lists, of: declared)
        } else {
            for rule in rules.rules.values { check(rule, of: declared) }
        }
        for (property, field) in rules.fields {
            if declared.index(of: property) == nil {
                let nearest = NearestName.find(property, among: declared.propertyNames)
                report(
                    field.place,
                    "\(name) has no property '\(property.prefix(64))'"
                        + (nearest.map { "; did you mean '\($0)'?" } ?? ""))
            } else if property == declared.primaryKey, field.read != nil {
                report(field.place, "\(name).\(property) is the primary key, which cannot be hidden")
            }
            if let condition = field.read { check(condition) }
            if let rule = field.write { check(rule, of: declared) }
        }
        if rules.isTransitive, schema.links(to: name).isEmpty {
            report(rules.place, "nothing links to \(name), so \"transitive\" makes none of its objects readable")
        }
    }

    private mutating func check(_ rule: WrittenRule, of declared: ClassSchema) {
        switch rule.form {
        case .condition(let predicate):
            check(QuerySyntax(.objects(className: declared.name), where: predicate), at: rule.place)
        case .channels(let property):
            guard check(property, of: declared, for: "channels", at: rule.place) else { return }
            guard document.set("channels") != nil else {
                return report(
                    rule.place,
                    "\"channels\" needs a derived set of that name in \"user\", such as "
                        + "\"Channel WHERE ANY readers.id == $user.id\"")
            }
            check(
                QuerySyntax(
                    .objects(className: declared.name),
                    where: rule.predicate(onClass: declared.name, schema: schema)), at: rule.place)
        case .objectList(let property):
            guard check(property, of: declared, for: "objectList", at: rule.place) else { return }
            let flag = rule.action.flag ?? .canUpdate
            if let message = PermissionList.problem(with: property, of: declared, flag, schema: schema) {
                report(rule.place, message)
            }
        }
    }

    private mutating func check(_ lists: PermissionLists, of declared: ClassSchema) {
        if let message = PermissionList.problem(with: .ofClass(declared.name), schema: schema) {
            return report(lists.place, message)
        }
        guard let property = lists.property,
            check(property, of: declared, for: "permissionLists", at: lists.place)
        else { return }
        for flag in PermissionFlag.allCases where PermissionLevel.object.flags.contains(flag) {
            if let message = PermissionList.problem(with: property, of: declared, flag, schema: schema) {
                return report(lists.place, message)
            }
        }
    }

    /// Whether a class has the property of a short form.
    private mutating func check(
        _ property: String, of declared: ClassSchema, for form: String, at place: FilePlace
    ) -> Bool {
        guard declared.index(of: property) == nil else { return true }
        let nearest = NearestName.find(property, among: declared.propertyNames)
        report(
            place,
            "\"\(form)\" names a property of \(declared.name), which has no '\(property.prefix(64))'"
                + (nearest.map { "; did you mean '\($0)'?" } ?? ""))
        return false
    }

    // MARK: Conditions

    private mutating func check(_ condition: UserCondition) {
        switch condition.form {
        case .permissionList: break
        case .query(let syntax): check(syntax, at: condition.place)
        case .condition(let predicate):
            predicate.forEachComparison { comparison in
                if let query = comparison.existenceQuery {
                    check(query, at: condition.place)
                } else {
                    check(comparison, nil, at: condition.place)
                }
            }
        }
    }

    /// Checks a query comparison by comparison, so that all problems are found.
    private mutating func check(_ syntax: QuerySyntax, at place: FilePlace) {
        guard case .objects(let className, let position) = syntax.target else { return }
        guard schema.index(of: className) != nil else {
            let nearest = NearestName.find(className, among: schema.classNames)
            return report(
                QueryError(
                    .unknownClass,
                    "there is no class '\(className.prefix(64))'" + (nearest.map { "; did you mean '\($0)'?" } ?? ""),
                    at: position), place)
        }
        let count = problems.count
        syntax.predicate.forEachComparison { check($0, syntax.target, at: place) }
        guard problems.count == count, syntax.clauses.isEmpty else { return }
        // What concerns the condition as a whole: its size and nesting.
        do throws(QueryError) {
            let pool = pool
            var bound = syntax
            bound.predicate = Substitution { pool.values(of: $0).first ?? .unknown }.predicate(syntax.predicate)
            _ = try Query(bound, schema: schema, isLimited: false)
        } catch {
            if error.code == .limitExceeded { report(error, place) }
        }
    }

    /// - Parameter target: the class whose objects the comparison reads; nil if it reads none.
    private mutating func check(_ comparison: ComparisonSyntax, _ target: QuerySyntax.Target?, at place: FilePlace) {
        let variables = comparison.variables.filter { variable in !pool.values(of: variable).isEmpty }
        guard variables.count == comparison.variables.count else { return }
        var first: QueryError?
        let fits = pool.tryAll(variables) { values in
            let bound = Substitution { values[$0] ?? .unknown }.predicate(.comparison(comparison))
            do throws(QueryError) {
                try Self.check(bound, target, schema)
                return true
            } catch {
                first = first ?? error
                return false
            }
        }
        if !fits, let first { report(first, place) }
    }

    private static func check(
        _ predicate: PredicateSyntax, _ target: QuerySyntax.Target?, _ schema: Schema
    ) throws(QueryError) {
        guard let target else { return try ConstantCondition.check(predicate) }
        do throws(QueryError) {
            _ = try Query(QuerySyntax(target, where: predicate), schema: schema, isLimited: false)
        } catch {
            guard case .comparison(var comparison) = predicate, case .path(var path) = comparison.left,
                path.quantifier == .any
            else { throw error }
            // `ANY Class.path` may lead to one value.
            path.quantifier = nil
            comparison.left = .path(path)
            _ = try Query(QuerySyntax(target, where: .comparison(comparison)), schema: schema, isLimited: false)
        }
    }
}

extension Schema {
    /// The properties that link to a class.
    func links(to className: String) -> [(className: String, property: Property)] {
        classes.flatMap { declared in
            declared.properties.filter { !$0.isRetired && $0.type.targetClass == className }
                .map { (declared.name, $0) }
        }
    }
}
