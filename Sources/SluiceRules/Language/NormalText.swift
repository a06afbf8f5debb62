internal import SluiceModel
internal import SluiceQuery

/// Writes conditions in one spelling without knowing the classes: equal texts mean the same. Blanks, the case of
/// keywords, parentheses and the order of what AND and OR join make no difference.
enum NormalText {
    static func predicate(_ predicate: PredicateSyntax) -> String {
        switch predicate {
        case .constant(let isTrue): isTrue ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .not(let operand): "NOT (\(self.predicate(operand)))"
        case .and(let operands): joined(flat(operands, isConjunction: true), by: " AND ")
        case .or(let operands): joined(flat(operands, isConjunction: false), by: " OR ")
        case .comparison(let comparison): self.comparison(comparison)
        }
    }

    static func query(_ query: QuerySyntax) -> String {
        guard case .objects(let className, _) = query.target else { return "" }
        return className + " WHERE " + predicate(query.predicate)
    }

    private static func flat(_ operands: [PredicateSyntax], isConjunction: Bool) -> [PredicateSyntax] {
        operands.flatMap { operand -> [PredicateSyntax] in
            switch operand {
            case .and(let inner) where isConjunction: flat(inner, isConjunction: true)
            case .or(let inner) where !isConjunction: flat(inner, isConjunction: false)
            default: [operand]
            }
        }
    }

    private static func joined(_ operands: [PredicateSyntax], by word: String) -> String {
        let texts = Set(
            operands.map { operand in
                switch operand {
                case .and, .or: "(\(predicate(operand)))"
                default: predicate(operand)
                }
            })
        return texts.sorted { UTF8Order.less($0, $1) }.joined(separator: word)
    }

    private static func comparison(_ comparison: ComparisonSyntax) -> String {
        expression(comparison.left) + " \(comparison.comparison.rawValue)" + (comparison.ignoresCase ? "[c]" : "") + " "
            + expression(comparison.right)
    }

    private static func expression(_ expression: ExpressionSyntax) -> String {
        switch expression {
        case .path(let path): return self.path(path)
        case .literal(let literal): return self.literal(literal)
        case .list(let literals, let quantifier, _):
            return prefix(quantifier) + "{" + literals.map(literal).joined(separator: ", ") + "}"
        case .arithmetic(let arithmetic):
            return "(\(self.expression(arithmetic.left)) \(arithmetic.operation.rawValue) "
                + "\(self.expression(arithmetic.right)))"
        case .subquery(let subquery):
            return "SUBQUERY(\(path(subquery.collection)), $\(subquery.variable), "
                + "\(predicate(subquery.predicate))).@count"
        }
    }

    private static func prefix(_ quantifier: PathSyntax.Quantifier?) -> String {
        quantifier.map { "\($0.rawValue) " } ?? ""
    }

    private static func path(_ path: PathSyntax) -> String {
        prefix(path.quantifier)
            + path.components.map { component in
                switch component.kind {
                case .property(let name): ".\(name)"
                case .variable(let name): ".$\(name)"
                case .operation(let name): ".@\(name)"
                case .backlink(let className, let property): ".@links.\(className).\(property)"
                case .key(let key): "[\(quoted(key))]"
                case .index(let index): "[\(index)]"
                case .named(let name): "[\(name)]"
                }
            }.joined().drop { $0 == "." }
    }

    private static func literal(_ literal: LiteralSyntax) -> String {
        switch literal.kind {
        case .value(.string(let text)): quoted(text)
        case .value(let value): "\(value)"
        case .number(let digits): digits
        case .instant(let date, let nanoseconds): "\(date) \(nanoseconds)"
        case .untyped(let text): quoted(text)
        case .object(let className, let key): "obj(\(className), \(key))"
        case .member(let className, let key): "obj(\(className), \(key))"
        case .variable(let variable): variable.description
        case .now(let offset): "$now \(offset)"
        }
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}
