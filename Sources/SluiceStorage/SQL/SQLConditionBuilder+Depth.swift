internal import SluiceModel
internal import SluiceQuery

/// The greatest depths of parts of a statement, as ``SQLStatement/parserDepth`` counts. A deeper part becomes a table
/// expression of its own (`WITH n1 AS (…)`), which SQLite parses separately and then expands like a view.
enum SQLDepth {
    /// A condition at the root, or under AND and OR, which add about thirty for the largest number of conditions.
    static let conditionMax = 50
    /// A condition on the target of a link, or of a subquery.
    static let innerMax = 26
    /// A value that is compared or computed with.
    static let valueMax = 26
}

extension SQLConditionBuilder {
    /// A condition on the objects of the scopes, no deeper than `depthMax`.
    mutating func shallow(_ condition: SQLStatement, _ depthMax: Int) -> SQLStatement {
        guard condition.parserDepth > depthMax else { return condition }
        let used = scopes(in: condition)
        let name = express(rows(used), of: used, where: condition)
        if !looksUp, used.count == 1, used[0].alias == scopes[0].alias {
            return "\(sql: used[0].alias)._row IN (SELECT r0 FROM \(sql: name))"
        }
        return "EXISTS (SELECT 1 FROM \(sql: name) WHERE \(places(used, in: name)))"
    }

    /// A value of the objects of the scopes, no deeper than ``SQLDepth/valueMax``.
    mutating func shallow(value: SQLStatement) -> SQLStatement {
        guard value.parserDepth > SQLDepth.valueMax else { return value }
        let used = scopes(in: value)
        let name = express(rows(used) + ["\(value) AS value"], of: used, where: nil)
        return "(SELECT value FROM \(sql: name) WHERE \(places(used, in: name)))"
    }

    /// Whether a link leads to a present object of a class for which a condition on it alone holds.
    mutating func leads(
        _ link: SQLStatement, to alias: String, ofClass classIndex: Int, where condition: SQLStatement
    ) -> SQLStatement {
        guard condition.parserDepth > SQLDepth.innerMax else {
            return looksUp
                ? "EXISTS \(object(alias, classIndex, "1", where: "\(sql: alias)._row = \(link) AND (\(condition))"))"
                : "\(link) IN \(object(alias, classIndex, "\(sql: alias)._row", where: "(\(condition))"))"
        }
        let target = Scope(alias: alias, classIndex: classIndex)
        let name = express(rows([target]), of: [target], where: "\(isPresent(alias, classIndex)) AND (\(condition))")
        return looksUp
            ? "EXISTS (SELECT 1 FROM \(sql: name) WHERE \(sql: name).r0 = \(link))"
            : "\(link) IN (SELECT r0 FROM \(sql: name))"
    }

    /// A condition on an object, no deeper than ``SQLDepth/innerMax``.
    mutating func shallow(_ condition: SQLStatement, on alias: String, ofClass classIndex: Int) -> SQLStatement {
        guard condition.parserDepth > SQLDepth.innerMax else { return condition }
        return leads("\(sql: alias)._row", to: alias, ofClass: classIndex, where: condition)
    }

    private func scopes(in statement: SQLStatement) -> [Scope] {
        let used = scopes.filter { statement.text.contains($0.alias + ".") }
        return used.isEmpty ? [scopes[0]] : used
    }

    private func rows(_ scopes: [Scope]) -> [SQLStatement] {
        scopes.enumerated().map { index, scope in "\(sql: scope.alias)._row AS r\(sql: String(index))" }
    }

    private func places(_ scopes: [Scope], in name: String) -> SQLStatement {
        .joined(
            scopes.enumerated().map { index, scope in
                "\(sql: name).r\(sql: String(index)) = \(sql: scope.alias)._row"
            }, by: " AND ")
    }

    /// Adds a table expression over present objects; returns its name.
    private mutating func express(
        _ output: [SQLStatement], of scopes: [Scope], where condition: SQLStatement?
    ) -> String {
        let tables = scopes.map { scope -> SQLStatement in
            "\(sql: layout.table(schema[scope.classIndex].name)) \(sql: scope.alias)"
        }
        var conditions = scopes.map { scope -> SQLStatement in "\(sql: scope.alias)._state = 1" }
        if let condition { conditions.append("(\(condition))") }
        return express(
            """
            SELECT \(.joined(output, by: ", ")) FROM \(.joined(tables, by: ", ")) WHERE \
            \(.joined(conditions, by: " AND "))
            """)
    }

    /// Adds a table expression; returns its name.
    mutating func express(_ statement: SQLStatement) -> String {
        let name = "n\(expressions.count + 1)"
        expressions.append("\(sql: name) AS NOT MATERIALIZED (\(statement))")
        return name
    }

    /// Puts the table expressions before a statement that names them.
    func statement(_ statement: SQLStatement) -> SQLStatement {
        expressions.isEmpty ? statement : "WITH \(.joined(expressions, by: ", ")) \(statement)"
    }
}
