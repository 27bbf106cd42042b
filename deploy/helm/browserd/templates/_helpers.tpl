{{- define "browserd.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- /* At most 50 characters, so that the names of pods and services that it begins fit. */ -}}
{{- define "browserd.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "browserd.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "browserd.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "browserd.selector" -}}
app.kubernetes.io/name: {{ include "browserd.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "browserd.labels" -}}
{{ include "browserd.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "browserd.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- /* Names under which clients reach the Service. */ -}}
{{- define "browserd.hosts" -}}
{{- $service := include "browserd.fullname" . -}}
{{- $ns := .Release.Namespace -}}
{{- concat (list $service (printf "%s.%s" $service $ns) (printf "%s.%s.svc" $service $ns) (printf "%s.%s.svc.cluster.local" $service $ns) "$(POD_IP)") .Values.allowedHosts | join "," -}}
{{- end -}}

{{- define "browserd.targetSessions" -}}
{{- $max := dig "session" "max" 100 .Values.config | int -}}
{{- .Values.autoscaling.targetSessions | int | default (max 1 (div (mul $max 4) 5)) -}}
{{- end -}}

{{- /* The keys that docs/configuration.md marks as secrets, and the value that takes each; empty: extraEnvFrom. */ -}}
{{- define "browserd.secrets" -}}
auth.tokens: auth.existingSecret
extract.api_key: ""
fallback.jina_api_key: ""
fleet.dsn: database.existingSecret
ledger.dsn: ""
search.brave_api_key: ""
search.serper_api_key: ""
search.tavily_api_key: ""
state.key: state.existingSecret
telemetry.otlp_headers: ""
{{- end -}}

{{- /* What cannot work is refused when the chart is rendered. */ -}}
{{- define "browserd.check" -}}
{{- if and (not .Values.database.existingSecret) (or .Values.autoscaling.enabled (gt (int .Values.replicas) 1)) -}}
{{- fail "database.existingSecret: is empty, and nodes without a database cannot be a fleet: name a secret with the database's address, or set replicas: 1 and autoscaling.enabled: false" -}}
{{- end -}}
{{- range $key, $own := include "browserd.secrets" . | fromYaml -}}
{{- $at := splitList "." $key -}}
{{- $section := get $.Values.config (first $at) -}}
{{- if or (hasKey $.Values.config $key) (and (kindIs "map" $section) (hasKey ($section | default dict) (last $at))) -}}
{{- fail (printf "config.%s: is a secret, and config becomes a ConfigMap: use %s" $key ($own | default (printf "extraEnvFrom, with the variable BROWSERD_%s" ($key | replace "." "__" | upper)))) -}}
{{- end -}}
{{- end -}}
{{- if regexMatch "://[^/@\\s]*@" (toYaml .Values.config) -}}
{{- fail "config: has an address with a password, and becomes a ConfigMap: use extraEnvFrom, with a variable such as BROWSERD_POLICY__UPSTREAM_PROXY" -}}
{{- end -}}
{{- range list "listen" "allowed_hosts" -}}
{{- if hasKey (dig "server" dict $.Values.config) . -}}
{{- fail (printf "config.server.%s: the chart sets it%s" . (ternary "; add to allowedHosts" "" (eq . "allowed_hosts"))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
