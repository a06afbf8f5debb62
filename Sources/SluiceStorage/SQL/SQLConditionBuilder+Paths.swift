internal import SluiceModel
internal import SluiceQuery

extension SQLConditionBuilder {
    /// Whether any value of a path, followed from an object, passes a test.
    mutating func condition(
        _ path: Query.Path, from index: Int, alias: String, _ test: SQLTest
    ) -> SQLStatement {
        guard index < path.steps.count else { return leaf(path, alias: alias, test) }
        if index == 0, path.isToMany, test.isOfExpression {
            let rows = rows(of: path, from: alias)
            return rows.exists(elementTest(test, rows.value, path.type), isAll: false)
        }
        let isSingle = path.hasOneValue(from: index)
        if isSingle, test.isOfExpression {
            return test.condition(value(of: path, from: index, alias: alias), path.type)
        }
        if isSingle, test.passes(path.brokenValue) {
            // The test passes where a link leads nowhere; its negation needs an object at the end.
            return "(\(condition(path, from: index, alias: alias, test.negated))) IS NOT TRUE"
        }
        let step = path.steps[index]
        if step.isBacklink { return backlinks(path, index, alias, test) }
        guard step.isToMany else { return target(linkValue(step, alias), path, index, test) }
        let element = nextAlias()
        let inner = target("\(sql: element).value", path, index, test)
        return owner(step.classIndex, step.property, element, of: alias, where: inner)
    }

    /// Whether a link leads to a present object from which the rest of the path passes the test.
    private mutating func target(
        _ link: SQLStatement, _ path: Query.Path, _ index: Int, _ test: SQLTest
    ) -> SQLStatement {
        let step = path.steps[index]
        let alias = nextAlias()
        let inner = condition(path, from: index + 1, alias: alias, test)
        return leads(link, to: alias, ofClass: step.targetClass, where: inner)
    }

    /// Whether an object links to this one, from which the rest of the path passes the test.
    private mutating func backlinks(
        _ path: Query.Path, _ index: Int, _ alias: String, _ test: SQLTest
    ) -> SQLStatement {
        let step = path.steps[index]
        let linking = nextAlias()
        let condition = condition(path, from: index + 1, alias: linking, test)
        let inner = shallow(condition, on: linking, ofClass: step.classIndex)
        guard !looksUp else {
            let link = linksTo(alias, step.classIndex, step.property, from: linking)
            return "EXISTS \(object(linking, step.classIndex, "1", where: "\(link) AND (\(inner))"))"
        }
        guard isCollection(step.property, step.classIndex) else {
            let link: SQLStatement = "\(sql: column(step.property, step.classIndex, linking))"
            return "\(sql: alias)._row IN \(object(linking, step.classIndex, link, where: "(\(inner))"))"
        }
        let element = nextAlias()
        let owners = object(linking, step.classIndex, "\(sql: linking)._row", where: "(\(inner))")
        let targets = subquery(
            collection(step.property, step.classIndex), element, "\(sql: element).value",
            where: "\(sql: element).owner IN \(owners)")
        return "\(sql: alias)._row IN \(targets)"
    }

    /// Whether a collection of an object has an element for which a condition holds.
    private func owner(
        _ classIndex: Int, _ property: Int, _ element: String, of alias: String, where condition: SQLStatement
    ) -> SQLStatement {
        let table = collection(property, classIndex)
        guard looksUp else {
            let owner: SQLStatement = "\(sql: element).owner"
            return "\(sql: alias)._row IN \(subquery(table, element, owner, where: condition))"
        }
        let isOwn: SQLStatement = "\(sql: element).owner = \(sql: alias)._row AND (\(condition))"
        return "EXISTS \(subquery(table, element, "1", where: isOwn))"
    }

    private mutating func leaf(_ path: Query.Path, alias: String, _ test: SQLTest) -> SQLStatement {
        switch path.leaf {
        case .elements(let property), .keys(let property):
            let element = nextAlias()
            let isKey = if case .keys = path.leaf { true } else { false }
            let column: SQLStatement = "\(sql: element).\(sql: isKey ? "key" : "value")"
            var inner: SQLStatement
            if case .link(let target) = path.type {
                let object = nextAlias()
                inner = isPresent(column, target, object)
                let identity = linkTest(column, target, test)
                inner = "\(inner) AND (\(identity))"
            } else {
                inner = test.condition(column, path.type)
                if isKey, let isShown = isShown(element, property, path.leafClass) {
                    inner = "(\(inner)) AND \(isShown)"
                }
            }
            return owner(path.leafClass, property, element, of: alias, where: inner)
        case .link(let property):
            guard !test.isOfExpression, case .link(let target) = path.type else {
                return test.condition(value(of: path, from: path.steps.count, alias: alias), path.type)
            }
            return linkTest("\(sql: column(property, path.leafClass, alias))", target, test)
        case .object: return elementTest(test, "\(sql: alias)._row", path.type)
        case .count, .backlinkCount, .subquery:
            if let wantsSome = test.wantsSome {
                let exists = existence(path, alias: alias)
                return wantsSome ? exists : "(\(exists)) IS NOT TRUE"
            }
            fallthrough
        default:
            return test.condition(value(of: path, from: path.steps.count, alias: alias), path.type)
        }
    }

    /// Tests which object a link leads to; a link to an absent object is null.
    mutating func linkTest(_ link: SQLStatement, _ target: Int, _ test: SQLTest) -> SQLStatement {
        let alias = nextAlias()
        guard let keys = test.linkKeys else {
            return test.isOfExpression
                ? test.condition(link, .link(target))
                : test.wantsNull ? "(\(isPresent(link, target, alias))) IS NOT TRUE" : isPresent(link, target, alias)
        }
        guard !keys.isEmpty else { return test.isExclusive ? "1" : "0" }
        let rows = object(alias, target, "\(sql: alias)._row", where: identity(keys, schema[target], alias))
        var isAmong: SQLStatement = "\(link) IN \(rows)"
        if test.listsNull { isAmong = "(\(isAmong) OR (\(isPresent(link, target, nextAlias()))) IS NOT TRUE)" }
        return test.isExclusive ? "(\(isAmong)) IS NOT TRUE" : isAmong
    }

    private func identity(_ keys: [ObjectKey], _ declared: ClassSchema, _ alias: String) -> SQLStatement {
        guard let primaryKey = declared.primaryKey else {
            let pairs = keys.map { key -> SQLStatement in
                guard case .id(let id) = key else { return "(NULL, NULL)" }
                let words: [SQLBinding] = [
                    .integer(TableLayout.word(id.high)), .integer(TableLayout.word(id.low)),
                ]
                return keys.count > SQLStatement.parameterListMax / 2
                    ? "(\(.joined(words.map(SQLStatement.element), by: ", ")))" : "(\(.list(words)))"
            }
            // SQLite uses an index of two columns for IN with a plain SELECT, but not with VALUES of several rows.
            let values: SQLStatement = "SELECT column1, column2 FROM (VALUES \(.joined(pairs, by: ", ")))"
            return "(\(sql: alias)._hi, \(sql: alias)._lo) IN (\(values))"
        }
        let values = keys.map { SQLBinding($0.value) ?? .null }
        return "\(sql: alias).\(sql: layout.column(primaryKey)) IN (\(.list(values)))"
    }

    mutating func isPresent(_ link: SQLStatement, _ target: Int, _ alias: String) -> SQLStatement {
        "EXISTS \(object(alias, target, "1", where: "\(sql: alias)._row = \(link)"))"
    }

    // MARK: Subqueries

    /// A subquery over the present objects of a class, in parentheses.
    mutating func object(
        _ alias: String, _ classIndex: Int, _ output: SQLStatement, where condition: SQLStatement
    ) -> SQLStatement {
        let table = layout.table(schema[classIndex].name)
        return subquery(table, alias, output, where: "\(isPresent(alias, classIndex)) AND \(condition)")
    }

    /// Whether the row of a class's table is an object that the context allows.
    mutating func isPresent(_ alias: String, _ classIndex: Int) -> SQLStatement {
        let isPresent: SQLStatement = "\(sql: alias)._state = 1"
        guard let rule = context.condition(ofClass: classIndex) else { return isPresent }
        let (outer, outerContext) = (scopes, context)
        defer { (scopes, context) = (outer, outerContext) }
        scopes = [Scope(alias: alias, classIndex: classIndex)]
        context = .everything
        let isAllowed = shallow(condition(rule.predicate), on: alias, ofClass: classIndex)
        return "\(isPresent) AND (\(isAllowed))"
    }

    func subquery(
        _ table: String, _ alias: String, _ output: SQLStatement, where condition: SQLStatement
    ) -> SQLStatement {
        "(SELECT \(output) FROM \(sql: table) \(sql: alias) WHERE \(condition))"
    }
}

extension Query.Path {
    /// Whether the path has exactly one value when followed from the object before the step at `index`.
    fileprivate func hasOneValue(from index: Int) -> Bool {
        switch leaf {
        case .elements, .keys: false
        default: !steps[index...].contains(where: \.isToMany)
        }
    }
}
